import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import {
  ApiError,
  isLoopback,
  openEndpoint,
  PolicyDirectory,
  type Endpoint,
  type ServedPolicy,
} from '@ui-rl/openai-api';
import { keptSecret, type EndpointSettings } from '@ui-rl/settings';

/** A class, so that it can be injected. */
export abstract class PolicyEndpointSettings implements EndpointSettings {
  readonly host: string;
  readonly port: number;
  readonly keys: string[];
  readonly keyFile: string;
  readonly sealFile: string;
  readonly maxRequests: number;
  readonly maxBodyBytes: number;
}

/**
 * The policy of the served run, if any. Without Nest hooks, because the endpoint's own application would call them.
 */
class ServedRun extends PolicyDirectory {
  run: { runId: string; policy: ServedPolicy } | undefined;

  policyOf(): ServedPolicy {
    if (this.run !== undefined) return this.run.policy;
    throw new ApiError(503, 'no run is served at the moment', 'no_run');
  }
}

/** OpenAI's API for the policy of the served run. Keeps its address for the lifetime of the process. */
@Injectable()
export class PolicyEndpoint implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('endpoint');
  private readonly served = new ServedRun();
  private endpoint: Endpoint | undefined;

  constructor(@Inject(PolicyEndpointSettings) private readonly settings: PolicyEndpointSettings) {}

  /** `http://127.0.0.1:40123`. */
  get url(): string | undefined {
    return this.endpoint?.url;
  }

  async onApplicationBootstrap(): Promise<void> {
    const { keys, keyFile, sealFile, ...settings } = this.settings;
    const isOpen = keys.length === 0 && isLoopback(settings.host);
    const asked = keys.length > 0 || isOpen ? keys : [keptSecret(keyFile)];
    const secret = () => keptSecret(sealFile);
    this.endpoint = await openEndpoint({ ...settings, keys: asked, directory: this.served, secret });
    const generated = keys.length > 0 ? 'one of POLICY_API_KEYS' : `the key in ${keyFile}`;
    const how = isOpen ? '' : `; it asks for ${generated}`;
    this.logger.log(`the policy answers OpenAI's API at ${this.endpoint.url}/v1${how}`);
  }

  async onModuleDestroy(): Promise<void> {
    await this.endpoint?.close();
  }

  serve(runId: string, policy: ServedPolicy): void {
    this.served.run = { runId, policy };
  }

  release(runId: string): void {
    if (this.served.run?.runId === runId) this.served.run = undefined;
  }
}

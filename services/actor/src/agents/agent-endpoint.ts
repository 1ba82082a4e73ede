import {
  Inject,
  Injectable,
  Logger,
  Module,
  type DynamicModule,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { isLoopback, openEndpoint, type Endpoint } from '@ui-rl/openai-api';
import { keptSecret, type EndpointSettings } from '@ui-rl/settings';
import { AgentSessions } from './agent-sessions';
import { SessionsController } from './sessions.controller';

/** Address of the actor for outside agents; undefined if disabled. A class, so that it can be injected. */
export abstract class AgentEndpointSettings {
  readonly endpoint?: EndpointSettings;
}

@Module({})
class SessionsModule {}

/** The endpoint for outside agents: sessions, with OpenAI's API in each of them. */
@Injectable()
export class AgentEndpoint implements OnApplicationBootstrap, OnModuleDestroy {
  /** Null if the endpoint is disabled. */
  readonly sessions: AgentSessions | null;
  private readonly logger = new Logger('agents');
  private endpoint: Endpoint | undefined;

  constructor(@Inject(AgentEndpointSettings) private readonly settings: AgentEndpointSettings) {
    this.sessions = settings.endpoint === undefined ? null : new AgentSessions();
  }

  get url(): string | undefined {
    return this.endpoint?.url;
  }

  async onApplicationBootstrap(): Promise<void> {
    const { sessions, settings } = this;
    if (sessions === null || settings.endpoint === undefined) return;
    const { keys, keyFile, sealFile, ...listens } = settings.endpoint;
    const isOpen = keys.length === 0 && isLoopback(listens.host);
    const asked = keys.length > 0 || isOpen ? keys : [keptSecret(keyFile)];
    const besides: DynamicModule = {
      module: SessionsModule,
      controllers: [SessionsController],
      providers: [{ provide: AgentSessions, useValue: sessions }],
    };
    this.endpoint = await openEndpoint({
      ...listens,
      keys: asked,
      directory: sessions,
      secret: () => keptSecret(sealFile),
      path: 'sessions/:session',
      besides,
    });
    const generated = keys.length > 0 ? 'one of AGENTS_API_KEYS' : `the key in ${keyFile}`;
    this.logger.log(
      `outside agents open sessions at ${this.endpoint.url}/sessions${isOpen ? '' : `; it asks for ${generated}`}`,
    );
  }

  async onModuleDestroy(): Promise<void> {
    await this.endpoint?.close();
  }
}

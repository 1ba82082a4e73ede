import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { isLoopback } from '@ui-rl/openai-api';
import { keptSecret } from '@ui-rl/settings';
import { EnvOptions } from '../env.options';
import { RunEnvironments } from '../run-environments';
import { ServedEpisodes } from './episodes';
import { serveEnvironments, type ServedEnvironments } from './server';
import { ServedWorld } from './world';

/** Serves environments to clients, if a port is configured. */
@Injectable()
export class ServeService implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('env:served');
  private served: ServedEnvironments | undefined;
  private episodes: ServedEpisodes | undefined;

  constructor(
    @Inject(EnvOptions) private readonly options: EnvOptions,
    @Inject(RunEnvironments) private readonly environments: RunEnvironments,
  ) {}

  get url(): string | undefined {
    return this.served?.url;
  }

  async onApplicationBootstrap(): Promise<void> {
    const { serve, components } = this.options;
    if (serve === undefined) return;
    const { keys, keyFile, runFile, host } = serve;
    const isOpen = keys.length === 0 && isLoopback(host);
    const asked = keys.length > 0 || isOpen ? keys : [keptSecret(keyFile)];
    const world = await ServedWorld.open(runFile, components, this.environments);
    this.episodes = new ServedEpisodes(world);
    this.served = await serveEnvironments(this.episodes, { ...serve, keys: asked });
    const key = keys.length > 0 ? 'one of ENVIRONMENTS_API_KEYS' : `the key in ${keyFile}`;
    this.logger.log(
      `${world.tasks.length} tasks are played at ${this.served.url}${isOpen ? '' : `; it asks for ${key}`}`,
    );
  }

  async onModuleDestroy(): Promise<void> {
    await this.served?.close();
    await this.episodes?.close();
  }
}

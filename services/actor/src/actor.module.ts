import { type DynamicModule, Module } from '@nestjs/common';
import type { EndpointSettings } from '@ui-rl/settings';
import { ActorOptions } from './actor.options';
import { ActorService } from './actor.service';
import { AgentEndpoint, AgentEndpointSettings } from './agents/agent-endpoint';

@Module({})
export class ActorModule {
  /** @param endpoint of the sessions of outside agents; default: disabled */
  static forRoot(options: ActorOptions, endpoint?: EndpointSettings): DynamicModule {
    return {
      module: ActorModule,
      providers: [
        ActorService,
        { provide: ActorOptions, useValue: options },
        AgentEndpoint,
        { provide: AgentEndpointSettings, useValue: { endpoint } },
      ],
    };
  }
}

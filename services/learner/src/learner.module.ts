import { type DynamicModule, Module } from '@nestjs/common';
import type { EndpointSettings } from '@ui-rl/settings';
import { PolicyEndpoint, PolicyEndpointSettings } from './endpoint/policy-endpoint';
import { LearnerService, LearnerServiceOptions } from './learner.service';

@Module({})
export class LearnerModule {
  /** @param endpoint on which the policy serves OpenAI's API; default: disabled */
  static forRoot(options: LearnerServiceOptions, endpoint?: EndpointSettings): DynamicModule {
    const served = [PolicyEndpoint, { provide: PolicyEndpointSettings, useValue: endpoint }];
    return {
      module: LearnerModule,
      providers: [
        LearnerService,
        { provide: LearnerServiceOptions, useValue: options },
        ...(endpoint === undefined ? [] : served),
      ],
    };
  }
}

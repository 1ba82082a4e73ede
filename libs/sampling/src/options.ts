import { IsInt, Min } from 'class-validator';
import { Above, Doc } from '@ui-rl/plugin-kit';

/** Options of the `external` sampler in a run file. */
export class ExternalSamplerOptions {
  @Doc('time limit without any sampler, in minutes; then the learner ends with an error')
  @Above(0)
  wait_minutes = 60;

  @Doc('time limit for an answer, in milliseconds; then another sampler gets the request')
  @IsInt()
  @Min(1)
  request_timeout_ms = 600_000;

  @Doc(
    'maximum mean difference of log-probabilities between a sampler and the engine; 0 in deterministic runs',
  )
  @Above(0)
  probe_tolerance = 0.05;
}

import type { Trajectory } from '@ui-rl/contracts';
import { Counter, Histogram } from 'prom-client';

const episodes = new Counter({
  name: 'uirl_episodes_total',
  help: 'episodes played, by purpose and how they ended',
  labelNames: ['purpose', 'status'],
});
const turns = new Histogram({
  name: 'uirl_turn_seconds',
  help: 'time of a turn that the policy or the environment took',
  labelNames: ['of'],
  buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100],
});

/** Counts a finished episode. */
export function countEpisode({ request, status, turns: played }: Trajectory): void {
  episodes.inc({ purpose: request.purpose, status });
  for (const { policyMs, envMs } of played) {
    turns.observe({ of: 'policy' }, policyMs / 1000);
    turns.observe({ of: 'environment' }, envMs / 1000);
  }
}

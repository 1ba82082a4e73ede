import type { BusService, Consumption } from '@ui-rl/bus';
import { EvaluationEvent, STREAMS, subjects } from '@ui-rl/contracts';
import type { Trackers } from './trackers';

/**
 * Passes the scores of a run's evaluations to its trackers as metrics of `test/<set>/`, including those published
 * while no learner ran.
 */
export function trackEvaluations(bus: BusService, runId: string, trackers: Trackers): Promise<Consumption> {
  return bus.consume({
    stream: STREAMS.events,
    durable: `trackers-${runId}`,
    subject: subjects.event(runId, 'evaluation'),
    schema: EvaluationEvent,
    handle: async ({ policyVersion, at, stage, set, successRate, episodes, unjudged = 0, metrics = {} }) => {
      if (episodes + unjudged === 0) return;
      const evaluated = {
        ...(successRate === null ? {} : { 'env/all/success': successRate }),
        'env/all/episodes': episodes + unjudged,
        ...metrics,
      };
      await trackers.evaluation({
        ...{ step: policyVersion, at, stage, set, successRate, episodes },
        metrics: Object.fromEntries(
          Object.entries(evaluated).map(([name, value]) => [`test/${set}/${name}`, value]),
        ),
      });
    },
  });
}

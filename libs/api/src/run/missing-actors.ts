import type { RunEvent } from '@ui-rl/contracts';

/**
 * Warns once, after the first step, if fewer actors serve a run than it asks for: the operator of the services does
 * not know the option.
 *
 * @param wanted `rollout.num_actors`
 * @returns a function to call with every event of the run
 */
export function missingActors(
  wanted: number,
  onWarning: (message: string) => void,
): (event: RunEvent) => void {
  const ready = new Set<string>();
  let isJudged = false;
  return (event) => {
    if (event.type === 'service_ready' && event.service === 'actor') ready.add(event.instance);
    if (event.type !== 'train_step' || isJudged) return;
    isJudged = true;
    if (ready.size >= wanted) return;
    onWarning(
      `num_actors is ${wanted}, and ${ready.size} serve this run: start more, on one machine by ui-rl up --actors ${wanted}`,
    );
  };
}

import { PolicyWeights } from '../policy/policy-weights';
import { Trackers } from '../tracking/trackers';
import { logger } from './log';
import type { Machinery } from './machinery';
import type { Resumed } from './resumed';
import type { Training } from './training';

/** Loads the newest weights, or keeps the run's initial ones; serves them, and reports the run's state. */
export async function begin(
  parts: Resumed &
    Pick<Training, 'demand' | 'reports' | 'durable'> &
    Pick<Machinery, 'models'> & {
      weights: PolicyWeights;
      trackers: Trackers;
      /** Fetches the initial checkpoint of a new run, if it names one. */
      loadFrom: (() => Promise<string>) | undefined;
    },
): Promise<void> {
  const { checkpoints, state, progress, models, weights, trackers, demand, reports, durable } = parts;
  const { step } = progress;
  if (state !== undefined) {
    await models.restore(checkpoints.folder.pathOf(step), { optimizer: !progress.renewsOptimizer });
  } else {
    await beginFromAnother(parts);
  }
  const { digest } = await weights.publish(step);
  progress.produced(step, digest);
  if (state === undefined) await durable.save();
  else await checkpoints.publish(step);
  await weights.activate(step, digest);
  await trackers.resume(step);
  await reports.resume(step);
  if (state !== undefined) await reports.trackLastStep(state.savedAt);
  await demand.announce();
  await reports.publishLastStep();
}

/**
 * A new run may start with the weights of another one: of a run in its folder that it resumes from, or of the
 * checkpoint that it names.
 */
async function beginFromAnother({
  models,
  runFolder: { resumeFrom },
  loadFrom,
}: Parameters<typeof begin>[0]): Promise<void> {
  const dir = resumeFrom ?? (await loadFrom?.());
  if (dir === undefined) return;
  const { newCritic } = await models.begin(dir, { optimizer: resumeFrom !== undefined });
  if (newCritic) logger.warn(`${dir} has no critic: this run begins with a new one`);
}

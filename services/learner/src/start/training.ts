import { join } from 'node:path';
import { GroupBuffer } from '../episodes/groups';
import { EpisodeIntake } from '../episodes/intake';
import { LostEpisodes } from '../episodes/lost-episodes';
import { Stragglers } from '../episodes/stragglers';
import { TaskHealth } from '../episodes/task-health';
import { PolicyWeights } from '../policy/policy-weights';
import { EpisodeLog } from '../tracking/episode-log';
import { Trackers } from '../tracking/trackers';
import { stragglerFactor } from '../run-options';
import type { Algorithm } from '../training/algorithm';
import { BatchTrainer } from '../training/batch-trainer';
import { DurableSteps } from '../training/durable-steps';
import { GroupDemand } from '../training/group-demand';
import { Recovery } from '../training/guard/recovery';
import { StepReports } from '../training/step-reports';
import { WarmStart } from '../training/stored/warm-start';
import { TrainingLoop } from '../training/training-loop';
import type { SequenceContext } from '../training/turn-data';
import { RunWarnings } from '../warnings';
import type { Machinery } from './machinery';
import type { Resumed } from './resumed';
import type { StartOptions } from './start-options';

export interface Training {
  intake: EpisodeIntake;
  demand: GroupDemand;
  reports: StepReports;
  durable: DurableSteps;
  loop: TrainingLoop;
  lost: LostEpisodes;
  stragglers: Stragglers;
}

export function trainingOf(
  start: StartOptions,
  machinery: Machinery,
  { checkpoints, progress, runFolder }: Resumed,
  weights: PolicyWeights,
  trackers: Trackers,
): Training {
  const { bus, run, options, lease } = start;
  const { runId } = run.record;
  const { engine, teacher, models, folder, screenshots } = machinery;
  const { training, async: pace } = options;
  const { group_size: groupSize, max_attempts: maxAttempts } = options.rollout;
  const { imageTokenId, vocabSize } = folder.family.shape;
  const warnings = new RunWarnings(bus, runId);
  const health = new TaskHealth();
  const buffer = new GroupBuffer({
    maxAttempts,
    isSettled: (index) => progress.settled.has(index),
    // In a reproducible run, the concurrent work of others must not influence decisions.
    isHopeless: ({ task }) => !training.deterministic && health.othersArePlayed(task),
  });
  const demand = new GroupDemand({ runId, bus, lease, options, progress, weights });
  const stragglers: Stragglers = new Stragglers({
    ...{ runId, bus, buffer, progress },
    options: { stragglerFactor: stragglerFactor(pace), groupSize, maxAttempts },
    isOver: (): boolean => loop.finished,
  });
  const intake = new EpisodeIntake({
    ...{ runId, bus, lease, groupSize, buffer, health, stragglers, progress, warnings },
    tokens: { imageTokenId, vocabSize },
    missingScreenshot: (hashes) => screenshots.missingOf(hashes),
    groupsRequested: () => demand.groupsRequested,
  });
  const context = {
    imageTokenId,
    imagesOfPrompt: (hashes: readonly string[]) => screenshots.ofPrompt(hashes),
  };
  const warmStart = warmStartOf(start, machinery, context);
  progress.warmStartSteps = warmStart?.steps ?? progress.warmStartSteps;
  if (progress.warmStartSteps > 0) checkpoints.keep(progress.warmStartSteps);
  const algorithm = delayed(machinery.algorithm, progress.warmStartSteps);
  const trainer = new BatchTrainer(engine, algorithm, context, teacher);
  const reports = new StepReports({
    ...{ runId, bus, progress, weights, checkpoints, trackers, warnings },
    episodeLog: new EpisodeLog({
      ...{ runId, groups: options.logging.num_groups_to_log, dir: join(runFolder.dir, 'episodes') },
      screenshot: (sha256) => screenshots.bytesOf(sha256),
    }),
    isLast: (): boolean => loop.endReason !== undefined,
  });
  const durable = new DurableSteps({
    lease,
    models,
    progress,
    weights,
    checkpoints,
    demand,
    reports,
    warnings,
    maxStepsOffPolicy: pace.max_steps_off_policy,
  });
  const recovery = new Recovery({
    options: training.collapse_guard,
    maxStepsOffPolicy: pace.max_steps_off_policy,
    ...{ progress, durable, weights, warnings },
  });
  const loop: TrainingLoop = new TrainingLoop({
    ...{
      lease,
      durable,
      options,
      algorithm,
      buffer,
      health,
      progress,
      weights,
      trainer,
      warmStart,
      checkpoints,
      demand,
      reports,
      recovery,
    },
    stragglers,
    warnings,
  });
  const lost = new LostEpisodes({
    ...{ runId, bus, buffer, progress, warnings },
    options: { groupSize, maxAttempts, seed: training.seed },
    isOver: () => loop.finished,
  });
  return { intake, demand, reports, durable, loop, lost, stragglers };
}

function warmStartOf(
  { options: { training }, components }: StartOptions,
  { stored, ...machinery }: Machinery,
  context: SequenceContext,
): WarmStart | undefined {
  if (stored === undefined) return undefined;
  const { warm_start, seed } = training;
  return new WarmStart(warm_start, { ...machinery, stored, components, context, seed });
}

/** Delays the schedule of an algorithm by a number of steps. */
function delayed(algorithm: Algorithm, steps: number): Algorithm {
  const { schedule, critic } = algorithm;
  return {
    ...algorithm,
    schedule: { factor: (step) => schedule.factor(step - steps) },
    critic: critic && {
      ...critic,
      options: { ...critic.options, warmup_steps: critic.options.warmup_steps + steps },
    },
  };
}

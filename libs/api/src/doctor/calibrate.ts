import { COORDINATE_SPACES, type CoordinateSpace, type Dialect, type ScreenSizes } from '@ui-rl/actions';
import type { Policy } from '@ui-rl/episode';
import {
  loadTasks,
  PluginError,
  type ComponentChoice,
  type ComponentRegistry,
  type StateCheck,
} from '@ui-rl/plugin-kit';
import {
  loadRunFile,
  readCliSettings,
  type RunFile,
  type RunFileOptions,
  type RunFileSource,
} from '@ui-rl/settings';
import type { ImageSize, Task } from '@ui-rl/contracts';
import { openCandidate, modelOfCandidate } from '../evaluate/candidate';
import { loadForModel } from '../model/action-format';
import type { EngineChoice } from '../model/engine-choice';
import { ASSUMED } from '../run/assumed';
import type { EpisodeResult } from '../task/player';
import { runTasks } from '../task/run-tasks';
import { judge, type Calibration, type Reading, type TargetAnswer, type TargetBox } from './calibration';

const SCREEN: ImageSize = { width: 1280, height: 800 };
const TARGETS = 12;

export interface CalibrateOptions {
  policy: Policy;
  /** Path of a run file, or its options as an object: `model.action_format`, `model.prompt`, `rollout`. */
  runFile?: string | RunFileOptions;
  /** Overrides `model.action_format` of the run file. */
  actionFormat?: ComponentChoice;
  /** Screen size in pixels. Default: 1280 × 800. */
  screen?: ImageSize;
  /** Number of targets on the screen, each asked for once. Default: 12. */
  targets?: number;
  signal?: AbortSignal;
}

export interface CalibrateModelOptions extends Omit<CalibrateOptions, 'policy'>, Partial<EngineChoice> {
  /** The candidate, as for `evaluate`: a model, a checkpoint of a run, or an OpenAI-compatible endpoint. */
  checkpoint: string;
  /** Base of relative paths. */
  workingDir?: string;
  /** Called with a line before each slow operation. */
  onProgress?: (line: string) => void;
}

/**
 * Calibrates a model by name. Without `actionFormat` and without `model.action_format` in the run file, it uses the
 * action format that a run of the model would use.
 *
 * @throws SettingsError, or an error that says what is wrong with the checkpoint
 */
export async function calibrateModel({
  checkpoint,
  workingDir,
  onProgress = () => undefined,
  device,
  dtype,
  quantization,
  ...options
}: CalibrateModelOptions): Promise<Calibration> {
  const { signal } = options;
  const run = await runOf({ ...options, checkpoint, workingDir });
  // Targets are asked for one at a time.
  run.rollout.concurrency = 1;
  const candidate = await openCandidate({ checkpoint, flags: [], label: checkpoint }, run, {
    ...{ device, dtype, quantization, workingDir, signal },
    onWarning: onProgress,
  });
  try {
    const actionFormat = options.actionFormat ?? run.model.action_format;
    return await calibrate({ ...options, policy: candidate.policy, actionFormat });
  } finally {
    await candidate.close();
  }
}

/** The run that the model would play in. @throws SettingsError */
export async function runOf({
  checkpoint,
  workingDir,
  ...options
}: Pick<CalibrateModelOptions, 'checkpoint' | 'workingDir' | 'runFile'>): Promise<RunFile> {
  const { run } = await loadForModel({ ...sourceOf(options), assumed: ASSUMED, workingDir }, (read) =>
    modelOfCandidate(checkpoint, read, workingDir),
  );
  return run;
}

function sourceOf({ runFile = {} }: Pick<CalibrateOptions, 'runFile'>): RunFileSource {
  return typeof runFile === 'string' ? { file: runFile } : { options: runFile };
}

/**
 * Has a policy click named targets on a page in the browser. Reports whether the clicks hit, and whether they would
 * hit if the coordinates were read in another space.
 *
 * @throws SettingsError with every fault of the run file; Error if the page could not be played
 */
export async function calibrate(options: CalibrateOptions): Promise<Calibration> {
  const { policy, screen = SCREEN, targets = TARGETS, signal } = options;
  const source = { ...sourceOf(options), assumed: ASSUMED };
  const { run, registry } = await loadRunFile(source, readCliSettings().plugins);
  const { max_tokens, turn_timeout_ms } = run.rollout;
  const format = options.actionFormat ?? run.model.action_format;
  const tasks = await loadTasks(registry, [{ source_type: 'calibration', targets, ...screen }]);
  const sizes: ScreenSizes = { screenshot: screen, modelImage: screen };
  const episodes = await runTasks(tasks, {
    policy: noting(policy, (modelImage) => Object.assign(sizes, { modelImage })),
    runFile: {
      model: { prompt: run.model.prompt, action_format: format },
      rollout: { max_turns: 1, max_tokens, turn_timeout_ms },
    },
    actors: 1,
    signal,
  });
  const answers = episodes.map((episode) => answerOf(episode, sizes));
  return judge(answers, format, { coordinates: spaceOf(format), dialect: dialectOf(registry, format) }, [
    ...readings(registry, format),
  ]);
}

/** The policy, which also reports the size in which it sees screenshots. */
function noting(policy: Policy, note: (modelImage: ImageSize) => void): Policy {
  return {
    saysTokens: policy.saysTokens,
    async modelImage(screenshot, clock) {
      const seen = await policy.modelImage(screenshot, clock);
      note(seen);
      return seen;
    },
    act: (request, clock) => policy.act(request, clock),
  };
}

/** @throws Error if the page was not played */
function answerOf(
  { status, invalidReason, turns, request, finalState }: EpisodeResult,
  sizes: ScreenSizes,
): TargetAnswer {
  const [turn] = turns;
  if (status === 'invalid' || turn === undefined)
    throw new Error(`the page of targets could not be played: ${invalidReason ?? 'there was no turn'}`);
  const at = finalState?.at as [number, number] | null | undefined;
  return { target: targetOf(request.task), answer: turn.text, sizes, clicked: at ?? null };
}

/** The target that the check of a `calibration` task asks for. */
function targetOf({ environment, checks }: Task): TargetBox {
  const [{ value: wanted }] = checks as StateCheck[];
  const { targets } = environment!.options.reset as { targets: TargetBox[] };
  return targets.find(({ label }) => label === wanted)!;
}

function dialectOf(registry: ComponentRegistry, format: ComponentChoice): Dialect {
  return registry.create('action-dialect', format, {});
}

function spaceOf({ coordinates }: ComponentChoice): CoordinateSpace | undefined {
  return COORDINATE_SPACES.find((space) => space === coordinates);
}

/** The action format in each other coordinate space that it accepts. A plugin's format may have none. */
function* readings(registry: ComponentRegistry, format: ComponentChoice): Generator<Reading> {
  for (const coordinates of COORDINATE_SPACES.filter((space) => space !== spaceOf(format))) {
    try {
      yield { coordinates, dialect: dialectOf(registry, { ...format, coordinates }) };
    } catch (error) {
      if (!(error instanceof PluginError)) throw error;
    }
  }
}

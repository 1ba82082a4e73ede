import type { LoadedTask } from '@ui-rl/plugin-kit';
import {
  newRunId,
  readCliSettings,
  type LoadedRunFile,
  type RunFile,
  type RunFileOptions,
} from '@ui-rl/settings';
import type { EngineChoice } from '../model/engine-choice';
import { ASSUMED } from '../run/assumed';
import { allRecorded } from '../run/recorded';
import { brokerHost, ownHost, type RunHost } from '../run/run-host';
import { loadForModel } from '../model/action-format';
import {
  modelOfCandidate,
  namedCandidates,
  openCandidate,
  type NamedCandidate,
  type OpenCandidate,
} from './candidate';
import type { EpisodeResult } from '../task/player';
import { playEpisodes, type PlayProgress } from './play-episodes';
import { EvaluationRecords } from './records';
import {
  candidateResult,
  compare,
  evaluationEvent,
  type CandidateResult,
  type EvalReport,
  type Played,
} from './report';
import { tasksFlag, tasksOf } from './tasks';

export interface EvaluateOptions extends Partial<EngineChoice> {
  /**
   * The candidates, evaluated one after the other on the same tasks and seeds: folders, addresses of checkpoints,
   * model names, or OpenAI-compatible endpoints (`https://host/v1#model`). Each may be followed by run-file options
   * that apply to it only: `small --model.prompt compact`.
   */
  checkpoints: readonly string[];
  /** A task file, a folder of task files, or task sources as in a run file. Default: `eval_tasks` of the run file. */
  tasks?: string | undefined;
  /** Path of the run file that configures the episodes, or its options as an object. */
  runFile?: string | RunFileOptions | undefined;
  /** Further options, as command-line flags. */
  flags?: readonly string[];
  /** Base of relative paths. Default: the working directory. */
  workingDir?: string;
  /**
   * Where to record the evaluation: at the `broker` that `NATS_URL` names or that `ui-rl up` started over the same
   * runs; with a broker and monitor of the evaluation (`own`), which stop with it; or nowhere (`none`). Default:
   * `broker` if there is one, else `none`.
   */
  records?: 'broker' | 'own' | 'none';
  /** Stops the evaluation; the report contains the results so far. */
  signal?: AbortSignal;
  /** Called with non-fatal problems, and before slow operations. */
  onWarning?: (message: string) => void;
  /** Called when everything is ready, before the first episode. */
  onStart?: (evaluation: StartedEvaluation) => void | Promise<void>;
  /** Receives every episode, including invalid ones. */
  onPlayed?: (episode: EpisodeResult) => Promise<void>;
  /** Called after each episode. */
  onEpisode?: (progress: EvalProgress) => void;
  /** Called after each candidate. */
  onResult?: (result: CandidateResult) => void;
  /** Called with the report while the evaluation's own monitor, if any, still shows it. */
  onEnd?: (report: EvalReport) => Promise<void>;
}

/** An evaluation that is about to start. */
export interface StartedEvaluation {
  /** Null if the evaluation is not recorded. */
  runId: string | null;
  /** The broker and its services; null if the evaluation is not recorded. */
  host: RunHost | null;
  tasks: readonly LoadedTask[];
  checkpoints: readonly NamedCandidate[];
}

/** Progress of an evaluation. */
export interface EvalProgress extends PlayProgress {
  /** Label of the candidate that plays. */
  label: string;
  /** Number of candidates that have finished. */
  candidatesDone: number;
  candidates: number;
}

/**
 * Plays tasks with each candidate and measures how often each succeeds.
 *
 * @throws SettingsError, or an error that names the faulty checkpoint, task source or endpoint, before the first
 *   episode. A later failure is reported as `ended`, together with the results so far
 */
export async function evaluate(options: EvaluateOptions): Promise<EvalReport> {
  const evaluation = await Evaluation.prepare(options);
  try {
    return await evaluation.play();
  } finally {
    await evaluation.close();
  }
}

interface Candidate {
  named: NamedCandidate;
  loaded: LoadedRunFile;
  open: OpenCandidate;
}

/** Options that all candidates share. */
type Shared = Pick<RunFile, 'eval_tasks'> & { seed: number; perTask: number };

class Evaluation {
  private readonly evaluated: { label: string; played: Played; result: CandidateResult }[] = [];

  private constructor(
    private readonly options: EvaluateOptions,
    private readonly candidates: readonly Candidate[],
    private readonly tasks: readonly LoadedTask[],
    private readonly host: RunHost | null,
    private readonly records: EvaluationRecords | null,
  ) {}

  static async prepare(options: EvaluateOptions): Promise<Evaluation> {
    const { signal, onWarning = () => undefined } = options;
    const named = namedCandidates(options.checkpoints);
    if (named.length === 0) throw new Error('which checkpoint? Name one at least');
    const loaded = await loadRunFiles(named, options);
    const tasks = await tasksOf(loaded[0], onWarning);
    const candidates: Candidate[] = [];
    let host: RunHost | null = null;
    try {
      for (const [place, each] of named.entries()) {
        const { run } = loaded[place];
        const open = await openCandidate(each, run, { ...options, onWarning });
        candidates.push({ named: each, loaded: loaded[place], open });
      }
      signal?.throwIfAborted();
      const recorded = await openRecords(named, loaded[0], options);
      host = recorded?.host ?? null;
      return new Evaluation(options, candidates, tasks, host, recorded?.records ?? null);
    } catch (error) {
      await closeAll(candidates, host);
      throw error;
    }
  }

  async play(): Promise<EvalReport> {
    const { options, records, tasks, host } = this;
    const checkpoints = this.candidates.map(({ named }) => named);
    await records?.begin();
    await options.onStart?.({ runId: records?.runId ?? null, host, tasks, checkpoints });
    let ended: string | null = null;
    for (const [place, candidate] of this.candidates.entries()) {
      ended = await this.playCandidate(candidate, place);
      await candidate.open.close();
      if (ended !== null) break;
    }
    await records?.end(ended);
    await this.untilRecorded();
    const report = this.report(ended);
    await options.onEnd?.(report);
    return report;
  }

  async close(): Promise<void> {
    await closeAll(this.candidates, this.host);
  }

  /** @returns why the candidate stopped before all episodes were played */
  private async playCandidate({ named, loaded, open }: Candidate, place: number): Promise<string | null> {
    const { options, records, tasks } = this;
    const runId = records?.runId ?? 'eval';
    const evaluationId = `${runId}-c${place}`;
    const { label, checkpoint, flags } = named;
    const { signal, onWarning, onEpisode } = options;
    const candidates = { candidates: this.candidates.length, candidatesDone: place };
    const { played, ended, seconds } = await playEpisodes({
      ...{ loaded, tasks, runId, evaluationId, checkpoint, policy: open.policy, signal, onWarning },
      record: async (episode) => {
        await records?.episode(episode);
        await options.onPlayed?.(episode);
      },
      onEpisode: (progress) => onEpisode?.({ ...progress, ...candidates, label }),
    });
    const result = candidateResult(tasks, played, {
      ...{ label, checkpoint, flags, wall_seconds: seconds },
      refused_parameters: open.refusedParameters(),
    });
    this.evaluated.push({ label, played, result });
    await records?.scored(evaluationEvent(runId, evaluationId, result));
    options.onResult?.(result);
    return ended;
  }

  /** The evaluation's own monitor stops with it, so it first has to record every message. */
  private async untilRecorded(): Promise<void> {
    const { host } = this;
    if (host?.monitorUrl === undefined || (await allRecorded(host.bus))) return;
    this.options.onWarning?.('the monitor has not recorded everything');
  }

  private report(ended: string | null): EvalReport {
    const { training, evaluation } = this.candidates[0].loaded.run;
    const [first, ...others] = this.evaluated;
    return {
      run: this.records?.runId ?? null,
      seed: training.seed,
      episodes_per_task: evaluation.episodes_per_task,
      temperature: evaluation.temperature,
      ended,
      checkpoints: this.evaluated.map(({ result }) => result),
      comparisons: others.flatMap((other) => compare(first, other) ?? []),
    };
  }
}

async function closeAll(candidates: readonly Candidate[], host: RunHost | null): Promise<void> {
  await Promise.all(candidates.map(({ open }) => open.close()));
  await host?.stop(false);
}

/** The run file as it applies to each candidate. @throws if the candidates would not play the same episodes */
async function loadRunFiles(
  named: readonly NamedCandidate[],
  { runFile = {}, flags = [], tasks, workingDir }: EvaluateOptions,
): Promise<LoadedRunFile[]> {
  const settings = readCliSettings();
  const source = typeof runFile === 'string' ? { file: runFile } : { options: runFile };
  const loaded: LoadedRunFile[] = [];
  for (const { flags: own, checkpoint } of named) {
    const all = [...flags, ...tasksFlag(tasks, workingDir), ...own];
    const read = await loadForModel(
      { ...source, flags: all, assumed: ASSUMED, models: Object.keys(settings.models), workingDir },
      (run) => modelOfCandidate(checkpoint, run, workingDir),
    );
    loaded.push(read);
    if (JSON.stringify(sharedOf(read.run)) !== JSON.stringify(sharedOf(loaded[0].run))) {
      throw new Error(
        `${checkpoint}: eval_tasks, training.seed and evaluation.episodes_per_task are the same for all checkpoints`,
      );
    }
  }
  return loaded;
}

function sharedOf({ eval_tasks, training, evaluation }: RunFile): Shared {
  return { eval_tasks, seed: training.seed, perTask: evaluation.episodes_per_task };
}

async function openRecords(
  named: readonly NamedCandidate[],
  { run, registry }: LoadedRunFile,
  { records, signal, onWarning = () => undefined }: EvaluateOptions,
): Promise<{ host: RunHost; records: EvaluationRecords } | null> {
  const settings = readCliSettings();
  const where = records ?? (settings.reachesBroker ? 'broker' : 'none');
  if (where === 'none') return null;
  const runId = newRunId(run.logging.run_name === 'run' ? 'eval' : run.logging.run_name);
  const host = await (where === 'broker'
    ? brokerHost(settings, signal)
    : ownHost(settings, runId, run, {
        services: ['monitor'],
        runsDir: settings.runsDir,
        env: {},
        onWarning,
      }));
  const shown = structuredClone(run);
  shown.model.name = named.map(({ checkpoint }) => checkpoint).join(', ');
  return { host, records: new EvaluationRecords(host.bus, runId, shown, registry) };
}

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  exportEpisodes,
  followRun,
  MonitorEpisodes,
  RunObserver,
  startRun,
  type StartedRun,
} from '@ui-rl/api';
import { BusService } from '@ui-rl/bus';
import type { EvaluationStage, RunEvent, Trajectory } from '@ui-rl/contracts';
import { readServiceSettings } from '@ui-rl/settings';
import { eventually } from '@ui-rl/testkit';
import { MatrixProducts } from '../../../libs/bench/src/matmul';
import type { Groups } from './algorithms';
import { merged, type RowDefinition } from './definitions';
import { processorSeconds, used } from './processor-time';
import { evaluated, marksAtTheEnd, marksOf, type Evaluated, type PlayedEpisode, type Row } from './row';

/** Time limit for receiving, or recording, the last published episodes. */
const ARRIVAL_MS = 60_000;
const PROGRESS_MS = 15_000;

export interface PlayOptions {
  signal?: AbortSignal;
  /** Called with progress messages. */
  onProgress?: (line: string) => void;
}

/** Runs everything a row needs, with a separate broker and six services for each run. */
export async function play(definition: RowDefinition, options: PlayOptions = {}): Promise<Row> {
  const { task, algorithm, seed, digest, runFile, collecting } = definition;
  const facts = { task, algorithm, seed, definition: digest, commit: commit(), at: new Date().toISOString() };
  const gflops = await (await MatrixProducts.prepare()).rate();
  const folder = mkdtempSync(join(tmpdir(), 'learning-'));
  try {
    if (collecting === undefined)
      return { ...facts, gflops, ...resultOf(await runOnce(runFile, join(folder, 'learnt'), options)) };
    const out = join(folder, 'episodes.jsonl');
    const store = (run: StartedRun, episodes: number) => allStored(run, episodes, out);
    const collected = await runOnce(collecting, join(folder, 'collected'), options, store);
    const warmStart = { training: { warm_start: { episodes: out } } };
    const learnt = await runOnce(merged(runFile, warmStart), join(folder, 'learnt'), options);
    return { ...facts, gflops, ...resultOfStored(collected, learnt) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The results of a run, from the start of its training to the final evaluation. */
interface Played {
  observer: RunObserver;
  episodes: readonly PlayedEpisode[];
  seconds: number;
  processorSeconds: Record<string, number>;
}

/** Queries to the services of an ended run, given its number of training episodes. */
type Afterwards = (run: StartedRun, episodes: number) => Promise<void>;

async function runOnce(
  runFile: Groups,
  folder: string,
  { signal, onProgress = () => undefined }: PlayOptions,
  afterwards: Afterwards = () => Promise.resolve(),
): Promise<Played> {
  const clocks = new Map<string, { at: number; processor: Record<string, number> }>();
  const onEvent = (event: RunEvent): void => {
    if (event.type === 'phase')
      clocks.set(event.phase, { at: Date.parse(event.at), processor: processorSeconds() });
  };
  const placed = merged(runFile, { logging: { log_path: folder } });
  const run = await startRun(placed, { services: 'own', signal, onEvent });
  const progress = setInterval(() => onProgress(run.progress()), PROGRESS_MS);
  try {
    const log = await followToTheEnd(run, afterwards);
    const [begin, end] = ['training', 'final_eval'].map((phase) => clocks.get(phase));
    if (begin === undefined || end === undefined) throw new Error('the run said not when it trained');
    return {
      observer: run.observer,
      episodes: log.played.map(({ atMs, success }) => ({ atMs: atMs - begin.at, success })),
      seconds: (end.at - begin.at) / 1000,
      processorSeconds: used(begin.processor, end.processor),
    };
  } finally {
    clearInterval(progress);
    await run.stop();
  }
}

/** The run's own observer does not keep episodes. */
async function followToTheEnd(run: StartedRun, afterwards: Afterwards): Promise<TrainingEpisodes> {
  const { nats } = readServiceSettings('bench', { NATS_CONTEXT: run.contextFile });
  const bus = await BusService.connect(nats);
  try {
    const log = new TrainingEpisodes();
    const stop = await followRun(bus, run.runId, log);
    await run.end();
    await eventually('all episodes', () => log.episodes >= run.observer.episodes, ARRIVAL_MS);
    await afterwards(run, log.played.length);
    await stop();
    return log;
  } finally {
    await bus.close();
  }
}

/** The valid training episodes of a run. */
class TrainingEpisodes extends RunObserver {
  readonly played: PlayedEpisode[] = [];

  override onTrajectory(trajectory: Trajectory): void {
    super.onTrajectory(trajectory);
    const { request, status, success, finishedAt } = trajectory;
    if (request.purpose !== 'train' || status === 'invalid') return;
    this.played.push({ atMs: Date.parse(finishedAt), success: success === true });
  }
}

/** The monitor records episodes shortly after the learner receives them. */
async function allStored(
  { monitorUrl = '', runId }: StartedRun,
  episodes: number,
  out: string,
): Promise<void> {
  const source = new MonitorEpisodes({ monitor: monitorUrl, runId });
  const all = async () => (await exportEpisodes({ source, to: 'episodes', out })).episodes >= episodes;
  await eventually(`${episodes} episodes in the monitor`, all, ARRIVAL_MS, 1_000);
}

type Result = Omit<Row, 'task' | 'algorithm' | 'seed' | 'definition' | 'commit' | 'at' | 'gflops'>;

function resultOf({ observer, episodes, seconds, processorSeconds: processor }: Played): Result {
  const after = evaluation(observer, 'final');
  if (after === null) throw new Error('the run has no final evaluation');
  return {
    steps: observer.trainSteps,
    episodes: episodes.length,
    invalidShare: observer.invalidShare,
    seconds: round(seconds),
    processorSeconds: mapped(processor, round),
    before: evaluation(observer, 'baseline'),
    after,
    marks: marksOf(episodes),
  };
}

/** Combines the collecting run and the learning run. */
function resultOfStored(collected: Played, learnt: Played): Result {
  const result = resultOf(learnt);
  const seconds = round(collected.seconds + learnt.seconds);
  const episodes = collected.episodes.length;
  const processor = mapped(learnt.processorSeconds, (own, name) =>
    round(own + (collected.processorSeconds[name] ?? 0)),
  );
  const marks = marksAtTheEnd(result.after, { episodes, seconds });
  return { ...result, episodes, seconds, processorSeconds: processor, marks };
}

function evaluation(observer: RunObserver, stage: EvaluationStage): Evaluated | null {
  const event = observer.evaluation(stage, 'train_goals');
  if (event === undefined) return null;
  const successes = event.tasks.reduce((sum, { successes: of }) => sum + of, 0);
  const episodes = event.tasks.reduce((sum, { episodes: of }) => sum + of, 0);
  return evaluated(successes, episodes);
}

function mapped(
  values: Readonly<Record<string, number>>,
  change: (value: number, name: string) => number,
): Record<string, number> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value, name)]));
}

function round(seconds: number): number {
  return Math.round(10 * seconds) / 10;
}

function commit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8', cwd: __dirname }).trim();
  const changed = git(
    'status',
    '--porcelain',
    '--untracked-files=no',
    '--',
    ':/libs',
    ':/services',
    ':/plugins',
  );
  return git('rev-parse', '--short', 'HEAD') + (changed === '' ? '' : '+');
}

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCliSettings } from '@ui-rl/settings';
import { evaluate, type EvaluateOptions } from '../evaluate/evaluate';
import type { EvalReport } from '../evaluate/report';
import { loadForModel } from '../model/action-format';
import { ASSUMED } from '../run/assumed';
import type { EpisodeResult } from '../task/player';
import { importEpisodes, type ImportEpisodesOptions } from './import-episodes';
import type { ImportedFile } from './import-report';
import { ChatWriter } from './writers/chat-writer';

export interface PlayTeacherOptions
  extends
    Pick<ImportEpisodesOptions, 'out' | 'runFile' | 'flags' | 'workingDir' | 'signal' | 'onWarning'>,
    Pick<EvaluateOptions, 'onStart' | 'onEpisode'> {
  /**
   * The player, as a candidate of an evaluation: a checkpoint, a model, or an endpoint with its own options, such as
   * `https://host/v1#model --model.prompt full`.
   */
  checkpoint: string;
  /** Tasks to play, as in an evaluation. Default: the training tasks of the run file. */
  tasks?: string | undefined;
}

/** The episodes that were kept, and the report on all that were played. */
export interface TaughtEpisodes {
  report: EvalReport;
  /** Null if no episode succeeded. */
  file: ImportedFile | null;
}

/**
 * Lets another policy play a run's training tasks, and writes its successful episodes for `training.warm_start`, with
 * the prompts and tokens of the run's model.
 *
 * @throws as `evaluate` and `importEpisodes`
 */
export async function playTeacher(options: PlayTeacherOptions): Promise<TaughtEpisodes> {
  const { checkpoint, out, onStart, onEpisode, ...training } = options;
  const { runFile, flags = [], workingDir, signal, onWarning } = training;
  const dir = await mkdtemp(join(tmpdir(), 'ui-rl-teacher-'));
  const path = join(dir, 'episodes.jsonl');
  const kept = new KeptEpisodes();
  const writer = await ChatWriter.create(path, async (sha256) => kept.screenshot(sha256));
  try {
    const report = await evaluate({
      ...{ checkpoints: [checkpoint], records: 'none', runFile, flags, workingDir, signal },
      tasks: options.tasks ?? (await trainingTasks(options)),
      onWarning,
      onStart,
      onEpisode,
      onPlayed: (episode) => kept.add(episode, () => writer.write(episode)),
    });
    await writer.finish();
    if (kept.count === 0) return { report, file: null };
    return { report, file: await importEpisodes({ ...training, path, from: 'chat', out }) };
  } finally {
    await writer.discard();
    await rm(dir, { recursive: true, force: true });
  }
}

/** The task sources of the run file, as `--tasks` names them. */
async function trainingTasks({ runFile, flags = [], workingDir }: PlayTeacherOptions): Promise<string> {
  const { run } = await loadForModel({
    ...(runFile === undefined ? { options: {} } : { file: runFile }),
    ...{ flags: [...flags], assumed: ASSUMED, models: Object.keys(readCliSettings().models), workingDir },
  });
  return JSON.stringify(run.tasks);
}

/** Writes successful episodes one at a time, each with its screenshots. */
class KeptEpisodes {
  count = 0;
  private current: EpisodeResult | undefined;
  private last: Promise<void> = Promise.resolve();

  screenshot(sha256: string): Uint8Array {
    return this.current!.screenshot(sha256);
  }

  async add(episode: EpisodeResult, write: () => Promise<void>): Promise<void> {
    const { status, success, reward } = episode;
    if (status === 'invalid' || !(success ?? reward > 0)) return;
    this.count += 1;
    this.last = this.last.then(() => {
      this.current = episode;
      return write();
    });
    await this.last;
  }
}

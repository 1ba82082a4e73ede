import type { Trajectory } from '@ui-rl/contracts';
import { Clock, EpisodeFailure, judge, planEpisodes, type EpisodePlan } from '@ui-rl/episode';
import { loadRunFile, readCliSettings } from '@ui-rl/settings';
import { ASSUMED } from '../run/assumed';
import { StoredScreenshots } from './stored-screenshots';
import type { EpisodeFilter } from './filter';
import { RescoreReport, type RescoredFile } from './rescore-report';
import { selected, type EpisodeSource } from './source';
import { StoredWriter } from './writers/stored-writer';

export interface RescoreEpisodesOptions {
  source: EpisodeSource;
  /** Default: all. */
  filter?: EpisodeFilter;
  /** Run file, or options of one: its verifier and rewards apply. */
  runFile: string | Record<string, unknown>;
  /** Further options of a run file, as on the command line: `--rewards …`. */
  flags?: readonly string[];
  /** File of stored episodes with the new rewards; an existing one is replaced. Default: writes none. */
  out?: string | undefined;
  workingDir?: string | undefined;
  signal?: AbortSignal | undefined;
  onWarning?: ((message: string) => void) | undefined;
  /** Called with the number of episodes scored. */
  onProgress?: ((episodes: number) => void) | undefined;
}

/**
 * Judges recorded episodes again with the verifier and the rewards of a run file, without playing them, and compares
 * the results. States after single turns are not recorded: rewards see the first and the last one.
 */
export async function rescoreEpisodes(options: RescoreEpisodesOptions): Promise<RescoredFile> {
  const { source, filter = {}, runFile, flags = [], out, workingDir, onWarning = () => undefined } = options;
  const given = typeof runFile === 'string' ? { file: runFile } : { options: runFile };
  const { run, registry } = await loadRunFile(
    { ...given, flags: [...flags], assumed: ASSUMED, workingDir },
    readCliSettings().plugins,
  );
  const planned = await planEpisodes(run, registry, (_level, message) => onWarning(message));
  const writer = out === undefined ? undefined : await StoredWriter.create(out, (hash) => source.image(hash));
  const judging = new Judging({ ...planned.plan, temperature: 1 }, source, options.signal);
  const report = new RescoreReport();
  try {
    for await (const before of selected(source, filter)) {
      const after = await judging.judged(before);
      if (typeof after === 'string') report.fail(before, after);
      else {
        report.add(before, after);
        await writer?.write(after);
      }
      options.onProgress?.(report.episodes);
    }
    const result = report.file(out, writer?.bytes ?? 0);
    await writer?.finish();
    return result;
  } catch (error) {
    await writer?.discard();
    throw error;
  } finally {
    await planned.close();
  }
}

/** Calls the verifier and the rewards of a plan. */
class Judging {
  private readonly signal: AbortSignal;

  constructor(
    private readonly plan: EpisodePlan,
    private readonly source: EpisodeSource,
    signal: AbortSignal | undefined,
  ) {
    this.signal = signal ?? new AbortController().signal;
  }

  /** The episode with new scores, or why a component could not score it. */
  async judged(recorded: Trajectory): Promise<Trajectory | string> {
    const { request, status, turns, ...episode } = withoutScores(recorded);
    const last = turns.at(-1);
    if (last === undefined) return 'it has no turn';
    const clock = new Clock('the episode', this.plan.episodeTimeoutMs, this.signal);
    const screenshots = await StoredScreenshots.of(recorded, this.source);
    try {
      const scores = await judge(
        {
          request,
          status: status as 'completed' | 'truncated',
          turns,
          finalScreenshot: episode.finalScreenshot ?? last.screenshot,
          stateBefore: episode.initialState ?? null,
          stateAfter: episode.finalState ?? null,
          screenshots,
        },
        this.plan,
        clock,
      );
      return { ...episode, request, status, ...scores };
    } catch (error) {
      if (error instanceof EpisodeFailure) return `${error.code}: ${error.message}`;
      throw error;
    }
  }
}

/** A copy whose turns have no rewards. */
function withoutScores(
  recorded: Trajectory,
): Omit<Trajectory, 'success' | 'reward' | 'rewards' | 'verdicts'> {
  const { success: _s, reward: _r, rewards: _p, verdicts: _v, turns, ...episode } = recorded;
  return { ...episode, turns: turns.map(({ reward: _own, rewards: _parts, ...turn }) => turn) };
}

import { SEED_RANGES, type RolloutRequest, type Task, type Trajectory } from '@ui-rl/contracts';
import { EpisodeFile, EpisodeFileError, type LinePlace, type ReadEpisode } from '@ui-rl/episode';
import { Misconfigured } from '@ui-rl/service';
import { findDefect, type TokenLimits } from '../turn-data';

/** The properties of an episode that stay in memory. */
export interface EpisodeNote {
  rolloutId: string;
  line: LinePlace;
  /** Equal for episodes of one task from one start, which can be compared. */
  start: string;
  reward: number;
}

/** The requirements on episodes. */
export interface EpisodeChecks {
  tokens: TokenLimits;
  /** Longest sequence in tokens, prompt and answer together. */
  maxSequence: number;
  /** Valid texts of sampled tokens in this model, the current form first. */
  textsOf: (tokenIds: readonly number[]) => readonly string[];
  /** Evaluation tasks, which are excluded from training. */
  evaluationTasks: readonly Task[];
}

/**
 * A file of episodes, one `StoredEpisode` per line. Everything is validated on opening, like messages from outside;
 * episodes and screenshots are read on demand.
 */
export class StoredEpisodes {
  /** In the order of the file. */
  readonly episodes: EpisodeNote[] = [];
  /** Reason for excluding episodes → their number. */
  readonly leftOut = new Map<string, number>();

  private constructor(private readonly file: EpisodeFile) {}

  /** @throws Misconfigured that names the first invalid line, or says that no episode can be trained on */
  static async open(path: string, checks: EpisodeChecks): Promise<StoredEpisodes> {
    const stored = new StoredEpisodes(new EpisodeFile(path));
    await stored.readAll(checks).catch((error: unknown) => {
      throw error instanceof EpisodeFileError ? new Misconfigured(error.message) : error;
    });
    if (stored.episodes.length > 0) return stored;
    const why = [...stored.leftOut].map(([reason, count]) => `${count} ${reason}`).join(', ');
    throw new Misconfigured(`${path} has no episode to learn from${why === '' ? '' : `: ${why}`}`);
  }

  private async readAll(checks: EpisodeChecks): Promise<void> {
    const lines = new Map<string, number>();
    const evaluated = new EvaluationTasks(checks.evaluationTasks);
    for await (const { trajectory, line } of this.file.read()) {
      const reason = reasonToLeaveOut(trajectory, evaluated);
      if (reason !== undefined) {
        this.leftOut.set(reason, (this.leftOut.get(reason) ?? 0) + 1);
        continue;
      }
      const { rolloutId } = trajectory.request;
      const before = lines.get(rolloutId);
      const defect = before === undefined ? this.defectOf(trajectory, checks) : `is in line ${before}, too`;
      if (defect !== undefined)
        throw new EpisodeFileError(this.file.path, line, `episode ${rolloutId} ${defect}`);
      lines.set(rolloutId, line.number);
      this.episodes.push(noteOf(trajectory, line));
    }
  }

  read({ line }: Pick<EpisodeNote, 'line'>): Promise<ReadEpisode> {
    return this.file.at(line);
  }

  /** The bytes of a screenshot; null if no line contains it. */
  image(hash: string): Promise<Uint8Array | null> {
    return this.file.image(hash);
  }

  /** Describes the fault of an episode; undefined if there is none. */
  private defectOf(trajectory: Trajectory, checks: EpisodeChecks): string | undefined {
    const defect = findDefect(trajectory, checks.tokens);
    if (defect !== undefined) return `cannot be trained: ${defect}`;
    for (const { index, promptTokenIds, promptImages, tokenIds, text } of trajectory.turns) {
      const length = promptTokenIds.length + tokenIds.length;
      if (length > checks.maxSequence) {
        return `has ${length} tokens in turn ${index}, model.max_sequence is ${checks.maxSequence}`;
      }
      const missing = promptImages.find((hash) => !this.file.hasImage(hash));
      if (missing !== undefined) {
        return `shows ${missing} in turn ${index}, which neither its line nor one before has among its images`;
      }
      const texts = checks.textsOf(tokenIds);
      if (text !== '' && !texts.map(asStored).includes(asStored(text))) {
        return `says ${show(text)} in turn ${index}, but its tokens are ${show(texts[0])} in this model: another one sampled them`;
      }
    }
    return undefined;
  }
}

/** A text as databases store it, without NUL. */
function asStored(text: string): string {
  return text.replaceAll('\0', '\uFFFD');
}

/** Evaluation tasks, by all of their names. */
class EvaluationTasks {
  private readonly names: ReadonlySet<string>;

  constructor(tasks: readonly Task[]) {
    this.names = new Set(tasks.flatMap(({ id, description }) => [id ?? description, description]));
  }

  has({ id, description }: Task): boolean {
    return this.names.has(description) || (id !== undefined && this.names.has(id));
  }
}

/** Why an episode is excluded from training; undefined if it is not. */
function reasonToLeaveOut(
  { status, request, turns }: Trajectory,
  evaluated: EvaluationTasks,
): string | undefined {
  if (status === 'invalid') return 'invalid';
  if (request.purpose !== 'train') return 'played for evaluation, or published by hand';
  if (request.seed >= SEED_RANGES.evaluation.first) return 'from starts that are not for training';
  if (evaluated.has(request.task)) return 'of tasks that the run evaluates (eval_tasks)';
  return turns.some(({ tokenIds }) => tokenIds.length > 0) ? undefined : 'without a sampled token';
}

function noteOf({ request, reward }: Trajectory, line: LinePlace): EpisodeNote {
  return { rolloutId: request.rolloutId, line, start: startOf(request), reward };
}

function startOf({ task: { id, description, environment }, seed }: RolloutRequest): string {
  return JSON.stringify([id ?? null, description, environment ?? null, seed]);
}

function show(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}

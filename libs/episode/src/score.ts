import { isRecord, show, type RewardParts, type RewardResult } from '@ui-rl/plugin-kit';
import { EpisodeFailure } from './failure';

/** The result of one of the run's rewards for an episode. */
export interface Scored {
  /** Name of the reward. */
  name: string;
  result: RewardResult;
}

/** The combined result of all rewards of a run for an episode. */
export interface Score {
  /** Sum of everything. */
  reward: number;
  /** Part → its sum over the episode. */
  rewards: Record<string, number>;
  /** The parts of each turn; undefined if no reward scores turns. */
  turns?: Record<string, number>[];
  /** Judge → its verdict on success; undefined if only the verifier judged. */
  verdicts?: Record<string, boolean>;
}

/**
 * Sums the results of the rewards. Each part belongs to one reward.
 *
 * @throws EpisodeFailure that names a reward with an invalid result, or two rewards with the same part
 */
export function addUp(scored: readonly Scored[], turnCount: number): Score {
  const rewards: Record<string, number> = {};
  const turns: Record<string, number>[] = Array.from({ length: turnCount }, () => ({}));
  const owners = new Map<string, string>();
  const verdicts: Record<string, boolean> = {};
  const judges = new Map<string, string>();
  let paysByTurns = false;
  for (const { name, result } of scored) {
    const { episode, byTurn, verdicts: own } = readResult(name, result, turnCount);
    for (const [judge, verdict] of Object.entries(own)) {
      claim(judges, judge, name, 'give a verdict');
      verdicts[judge] = verdict;
    }
    paysByTurns ||= byTurn !== undefined;
    for (const parts of [episode, ...(byTurn ?? [])]) {
      for (const [part, value] of Object.entries(parts)) {
        claim(owners, part, name, 'pay a part');
        rewards[part] = (rewards[part] ?? 0) + value;
      }
    }
    byTurn?.forEach((parts, index) => Object.assign(turns[index], parts));
  }
  const reward = sum(rewards);
  return {
    reward,
    rewards,
    ...(paysByTurns ? { turns } : {}),
    ...(judges.size > 0 ? { verdicts } : {}),
  };
}

export function sum(parts: RewardParts): number {
  return Object.values(parts).reduce((total, part) => total + part, 0);
}

function claim(owners: Map<string, string>, part: string, name: string, what: string): void {
  const owner = owners.get(part) ?? name;
  if (owner !== name) {
    throw new EpisodeFailure('reward', `rewards "${owner}" and "${name}" both ${what} named "${part}"`);
  }
  owners.set(part, name);
}

interface Read {
  episode: RewardParts;
  byTurn?: RewardParts[];
  verdicts: Record<string, boolean>;
}

function readResult(name: string, result: unknown, turnCount: number): Read {
  if (!isDetailed(result)) return { episode: readParts(name, result), verdicts: {} };
  const { episode = {}, turns, verdicts = {}, ...unknown } = result;
  const [key] = Object.keys(unknown);
  if (key !== undefined) {
    throw wrong(name, `gave "${key}" beside "turns", expected "episode" or "verdicts" alone`);
  }
  return {
    episode: readParts(name, episode),
    ...(turns === undefined ? {} : { byTurn: readTurns(name, turns, turnCount) }),
    verdicts: readVerdicts(name, verdicts),
  };
}

interface Detailed {
  episode?: unknown;
  turns?: unknown[];
  verdicts?: unknown;
}

/** Parts may have these names, too, but are numbers. */
function isDetailed(result: unknown): result is Detailed {
  if (!isRecord(result)) return false;
  const { turns, verdicts } = result;
  return Array.isArray(turns) || (isRecord(verdicts) && (turns === undefined || Array.isArray(turns)));
}

function readTurns(name: string, turns: unknown[], turnCount: number): RewardParts[] {
  if (turns.length !== turnCount) {
    throw wrong(name, `pays for ${turns.length} turns, the episode has ${turnCount}`);
  }
  return turns.map((parts) => readParts(name, parts));
}

function readVerdicts(name: string, verdicts: unknown): Record<string, boolean> {
  const fits = isRecord(verdicts) && Object.values(verdicts).every((verdict) => typeof verdict === 'boolean');
  if (fits) return verdicts as Record<string, boolean>;
  throw wrong(name, `gave verdicts ${show(verdicts)}, expected true or false by name`);
}

/** A plain number becomes the part with the reward's own name. */
function readParts(name: string, value: unknown): RewardParts {
  if (typeof value === 'number') return readParts(name, { [name]: value });
  if (!isRecord(value)) {
    throw wrong(name, `gave ${show(value)}, expected a number, parts by name, or {episode, turns}`);
  }
  for (const [part, number] of Object.entries(value)) {
    // Training computes in float32.
    if (typeof number === 'number' && Number.isFinite(Math.fround(number))) continue;
    // JSON would show NaN as null.
    const found = typeof number === 'number' ? String(number) : show(number);
    const where = part === name ? '' : ` as part "${part}"`;
    throw wrong(name, `gave ${found}${where}, expected a finite number of 32 bits`);
  }
  return value as RewardParts;
}

function wrong(name: string, problem: string): EpisodeFailure {
  return new EpisodeFailure('reward', `reward "${name}" ${problem}`);
}

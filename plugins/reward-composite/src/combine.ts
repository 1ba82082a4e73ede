import {
  isRecord,
  type Deadline,
  type DetailedReward,
  type JudgedEpisode,
  type Reward,
  type RewardParts,
  type RewardResult,
} from '@ui-rl/plugin-kit';

/** A member of a composite reward. */
export interface Member {
  name: string;
  /** Factor for all parts of the member. */
  weight: number;
  reward: Reward;
}

/**
 * Scores with all members concurrently.
 *
 * @throws Error that names the member that failed, or two members with a part of the same name
 */
export async function combined(
  members: readonly Member[],
  episode: JudgedEpisode,
  deadline: Deadline,
): Promise<DetailedReward> {
  const results = await Promise.all(members.map((member) => scored(member, episode, deadline)));
  const whole: Record<string, number> = {};
  const turns: Record<string, number>[] = episode.turns.map(() => ({}));
  const verdicts: Record<string, boolean> = {};
  const owners = new Map<string, string>();
  const judges = new Map<string, string>();
  let paysByTurns = false;
  members.forEach(({ name, weight }, index) => {
    const result = results[index];
    const pay = (into: Record<string, number>, parts: RewardParts): void => {
      for (const [part, value] of Object.entries(parts)) {
        claim(owners, part, name, 'pay a part');
        into[part] = weight * value;
      }
    };
    pay(whole, result.episode);
    paysByTurns ||= result.turns !== undefined;
    result.turns?.forEach((parts, turn) => pay(turns[turn], parts));
    for (const [judge, verdict] of Object.entries(result.verdicts)) {
      claim(judges, judge, name, 'give a verdict');
      verdicts[judge] = verdict;
    }
  });
  return { episode: whole, ...(paysByTurns ? { turns } : {}), verdicts };
}

interface Read {
  episode: RewardParts;
  turns?: RewardParts[];
  verdicts: Readonly<Record<string, boolean>>;
}

async function scored({ name, reward }: Member, episode: JudgedEpisode, deadline: Deadline): Promise<Read> {
  try {
    return read(name, await reward.score(episode, deadline), episode.turns.length);
  } catch (error) {
    throw new Error(`reward "${name}": ${(error as Error).message}`, { cause: error });
  }
}

function read(name: string, result: RewardResult, turnCount: number): Read {
  if (!isDetailed(result)) return { episode: partsOf(name, result), verdicts: {} };
  const { episode = {}, turns, verdicts = {} } = result;
  if (turns !== undefined && turns.length !== turnCount) {
    throw new Error(`pays for ${turns.length} turns, the episode has ${turnCount}`);
  }
  return {
    episode: partsOf(name, episode),
    ...(turns === undefined ? {} : { turns: turns.map((parts) => partsOf(name, parts)) }),
    verdicts,
  };
}

function isDetailed(result: RewardResult): result is DetailedReward {
  return isRecord(result) && (Array.isArray(result.turns) || isRecord(result.verdicts));
}

function partsOf(name: string, value: number | RewardParts): RewardParts {
  const parts = typeof value === 'number' ? { [name]: value } : value;
  const fits = isRecord(parts) && Object.values(parts).every((part) => Number.isFinite(part));
  if (fits) return parts;
  throw new Error('gave no finite number, and no parts that are');
}

function claim(owners: Map<string, string>, part: string, name: string, what: string): void {
  const owner = owners.get(part) ?? name;
  if (owner !== name) throw new Error(`"${owner}" and "${name}" both ${what} named "${part}"`);
  owners.set(part, name);
}

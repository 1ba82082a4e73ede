import { TASK_DIFFICULTIES, type Task } from '@ui-rl/contracts';
import { Random } from '@ui-rl/random';
import { PluginError } from '../errors';
import type { StoredTasks } from '../kinds';
import type { TaskChoiceOptions } from './choice-options';
import { goalHash, goalKey } from './goals';
import { hash53, HashIndex } from './hash';
import { prerequisitesOf } from './prerequisites';
import type { LoadedTask, TaskList, TaskPart } from './task-list';

/** Number of tasks named in a message. */
const MOST_NAMED = 5;
const DEFAULT_EVAL_SHARE = 0.1;

/** The part of a task that stays in memory; the rest is read on demand. */
interface Facts {
  /** Index in its source. */
  place: number;
  difficulty: number;
  goal: number;
  id: number;
  isJudged: boolean;
  /** Requested turns beyond the run's limit; 0 if there are none. */
  excess: number;
  /** Ids of its prerequisites. */
  required: readonly string[];
  /** Environment that it names. */
  environment: string | undefined;
}

/** Rules for counting tasks that a run cannot play as they are. */
export interface TaskRules {
  /** Whether the verifier of the run can judge it. */
  isJudged(task: Task): boolean;
  /** Turn limit of an episode. */
  maxTurns: number;
}

/** Keeps a few numbers per task: a million of them take some 60 MB. */
export class OpenTasks implements TaskList {
  readonly parts: TaskPart[] = [];
  readonly unjudged = { count: 0, ids: [] as string[] };
  readonly cut = { count: 0, ids: [] as string[], longest: 0 };
  readonly environments = new Set<string>();
  prerequisites: ReadonlyMap<number, readonly number[]> = new Map();
  private readonly stored: StoredTasks[] = [];
  private readonly places: number[] = [];
  private readonly difficulties: number[] = [];
  private readonly goals: number[] = [];
  private readonly byId = new HashIndex();
  private readonly firstUnjudged: number[] = [];
  private readonly firstCut: number[] = [];
  /** Prerequisites of the few tasks that have any: index → ids. */
  private readonly required = new Map<number, readonly string[]>();

  constructor(private readonly rules: TaskRules) {}

  get length(): number {
    return this.places.length;
  }

  /**
   * Adds the tasks of a source that its choice selects; a task that an earlier source has counts once.
   *
   * @throws PluginError for a task without an id, ids that several tasks have, and if none is left
   */
  async add(stored: StoredTasks, sourceType: string, choice: TaskChoiceOptions): Promise<void> {
    this.stored.push(stored);
    const part = { sourceType, first: this.length, length: 0, weight: choice.weight };
    this.parts.push(part);
    const problems: string[] = [];
    for await (const facts of choose(stored, sourceType, choice, this.rules)) {
      for (const each of facts) {
        // Avoids awaiting in the common case.
        const twin = this.byId.has(each.id) ? await this.twinOf(each, stored) : undefined;
        if (twin === undefined) this.take(each, part);
        else if (twin !== SAME) problems.push(twin);
      }
    }
    this.unjudged.ids.push(...(await this.idsOf(this.firstUnjudged.splice(0))));
    this.cut.ids.push(...(await this.idsOf(this.firstCut.splice(0))));
    if (problems.length === 0) return;
    const more = problems.length > MOST_NAMED ? `; and ${problems.length - MOST_NAMED} more` : '';
    throw new PluginError('duplicate', `tasks: ${problems.slice(0, MOST_NAMED).join('; ')}${more}`);
  }

  /** Resolves prerequisites after all sources have been added. @throws PluginError */
  async finish(): Promise<void> {
    this.prerequisites = await prerequisitesOf(this.required, this);
  }

  async at(place: number): Promise<LoadedTask> {
    return (await this.stored[this.partAt(place)].at(this.places[place])) as LoadedTask;
  }

  async placeOf(id: string): Promise<number | undefined> {
    for (const place of this.byId.placesOf(hash53(id))) {
      if ((await this.at(place)).id === id) return place;
    }
    return undefined;
  }

  difficultyAt(place: number): Task['difficulty'] {
    return TASK_DIFFICULTIES[this.difficulties[place]];
  }

  goalHash(place: number): number {
    return this.goals[place];
  }

  async close(): Promise<void> {
    await Promise.all(this.stored.map((each) => each.close()));
  }

  /** The fault of a task whose id is already known; `SAME` for an identical task, undefined if the id is new. */
  private async twinOf({ id, place: own }: Facts, stored: StoredTasks): Promise<string | undefined> {
    for (const place of this.byId.placesOf(id)) {
      const [other, task] = [await this.at(place), await stored.at(own)];
      if (other.id !== task.id) continue;
      if (this.stored[this.partAt(place)] === stored) {
        return `the id "${task.id}" comes twice: ${stored.where(this.places[place])}, and ${stored.where(own)}`;
      }
      if (other.description === task.description) return SAME;
      return `two tasks have the id "${task.id}": "${other.description}" and "${task.description}"`;
    }
    return undefined;
  }

  private take(facts: Facts, part: TaskPart): void {
    const { place, difficulty, goal, id, isJudged, excess, required, environment } = facts;
    const own = this.length;
    this.places.push(place);
    this.difficulties.push(difficulty);
    this.goals.push(goal);
    this.byId.add(id, own);
    part.length += 1;
    if (required.length > 0) this.required.set(own, required);
    if (environment !== undefined) this.environments.add(environment);
    if (!isJudged) {
      this.unjudged.count += 1;
      if (this.unjudged.count <= MOST_NAMED) this.firstUnjudged.push(own);
    }
    if (excess > 0) {
      this.cut.count += 1;
      this.cut.longest = Math.max(this.cut.longest, this.rules.maxTurns + excess);
      if (this.cut.count <= MOST_NAMED) this.firstCut.push(own);
    }
  }

  private idsOf(places: readonly number[]): Promise<string[]> {
    return Promise.all(places.map(async (place) => (await this.at(place)).id));
  }

  private partAt(place: number): number {
    return this.parts.findLastIndex(({ first, length }) => length > 0 && first <= place);
  }
}

const SAME = 'the same task';

/** The tasks of a source that a choice selects, in chunks: in source order, or shuffled by a seed. */
async function* choose(
  stored: StoredTasks,
  sourceType: string,
  choice: TaskChoiceOptions,
  rules: TaskRules,
): AsyncGenerator<readonly Facts[]> {
  const { limit = Infinity, seed } = choice;
  const held: Facts[] = [];
  let [place, count] = [0, 0];
  for await (const tasks of stored.read()) {
    const first = place;
    place += tasks.length;
    const kept = tasks.flatMap((task, index) =>
      isWanted(task, choice) ? [factsOf(task, first + index, sourceType, rules)] : [],
    );
    if (seed === undefined) yield kept.slice(0, limit - count);
    else for (const each of kept) held.push(each);
    count += kept.length;
    if (seed === undefined && count >= limit) return;
  }
  if (count === 0 && place > 0) {
    throw new PluginError(
      'option',
      `tasks: no task of source_type "${sourceType}" is left by ${filtersOf(choice)}`,
    );
  }
  if (seed !== undefined) yield new Random(seed).shuffled(held).slice(0, limit);
}

function factsOf(task: Task, place: number, sourceType: string, rules: TaskRules): Facts {
  if (task.id === undefined) {
    throw new PluginError(
      'invalid',
      `source_type "${sourceType}" gave a task without id: "${task.description}"`,
    );
  }
  const { difficulty, prerequisites = [], maxSteps = 0 } = task;
  return {
    place,
    difficulty: difficulty === undefined ? -1 : TASK_DIFFICULTIES.indexOf(difficulty),
    goal: goalHash(task),
    id: hash53(task.id),
    isJudged: rules.isJudged(task),
    excess: Math.max(0, maxSteps - rules.maxTurns),
    required: prerequisites,
    environment: task.environment?.kind,
  };
}

function isWanted(
  task: Task,
  { category, difficulty, tags, part, eval_share: share = DEFAULT_EVAL_SHARE }: TaskChoiceOptions,
): boolean {
  return (
    (category === undefined || task.category === category) &&
    (difficulty === undefined || task.difficulty === difficulty) &&
    (tags === undefined || tags.some((tag) => task.tags?.includes(tag) === true)) &&
    (part === undefined || sideOf(task, share) === part)
  );
}

/** Depends only on the goal, so that a goal is always on the same side, regardless of the other tasks. */
function sideOf(task: Task, evalShare: number): 'train' | 'eval' {
  const hash = hash53(`part/${goalKey(task) ?? task.id ?? task.description}`);
  return hash / 2 ** 53 < evalShare ? 'eval' : 'train';
}

function filtersOf({ category, difficulty, tags, part, eval_share }: TaskChoiceOptions): string {
  return JSON.stringify({ category, difficulty, tags, part, eval_share });
}

import {
  type ChosenTask,
  type ChoiceReason,
  type CurriculumChoice,
  type GroupResult,
} from '@ui-rl/contracts';
import { TASK_DIFFICULTIES, type TaskList } from '@ui-rl/plugin-kit';
import type { CurriculumGroup } from '@ui-rl/settings';
import { numberOf, type TaskOrder, type WeightedOrder } from './task-order';

/** What was measured of a task, or of a difficulty: sums in which older groups count less. */
interface Tally {
  episodes: number;
  score: number;
  groups: number;
  /** Episodes of all of them. */
  seen: number;
  /** The last group that was measured. */
  last: number;
}

type Standing = 'inBand' | 'tooHard' | 'tooEasy' | 'unmeasured';

/** What a curriculum has chosen, and where it goes on. */
export interface Chosen {
  place: number;
  cursor: number;
  choice: CurriculumChoice;
}

export interface CurriculumParts {
  options: CurriculumGroup;
  order: TaskOrder | WeightedOrder;
  tasks: Pick<TaskList, 'length' | 'placeOf' | 'difficultyAt' | 'prerequisites'>;
  seed: number;
}

/** Difficulty of tasks that name none: the middle. */
const UNKNOWN_LEVEL = 1;

/**
 * Chooses tasks by what was measured of them. It is a function of the seed, of the number of the group and of the results of the groups so far,
 * in their order: the events of the run tell these again to a process that begins.
 */
export class Curriculum {
  /** Place of a task → what was measured. */
  private readonly tallies = new Map<number, Tally>();
  /** Difficulty → the same of all its tasks. */
  private readonly levels = TASK_DIFFICULTIES.map((): Tally => ({
    episodes: 0,
    score: 0,
    groups: 0,
    seen: 0,
    last: -1,
  }));
  private level: number;
  private lastStep = 0;
  /** The newest group that was measured. */
  private newestGroup = -1;

  constructor(private readonly parts: CurriculumParts) {
    this.level = this.nextLevel(-1);
  }

  /** The newest step whose results are known. */
  get step(): number {
    return this.lastStep;
  }

  /** Takes in how the groups of a step ended. A step that is told again says nothing new. */
  async learn(step: number, results: readonly GroupResult[]): Promise<void> {
    if (step <= this.lastStep) return;
    const { tasks, options } = this.parts;
    const ordered = results.toSorted((a, b) => a.group - b.group);
    const places = await Promise.all(ordered.map(({ task }) => tasks.placeOf(task)));
    // From here on at once: nothing is chosen by a part of a step.
    this.lastStep = step;
    this.newestGroup = Math.max(this.newestGroup, ordered.at(-1)?.group ?? -1);
    for (const [index, result] of ordered.entries()) {
      const place = places[index];
      if (place === undefined) continue;
      this.tallies.set(place, added(this.tallies.get(place), result, options.memory));
      const level = this.levelOf(place);
      // Of a difficulty the newest groups count, as many as it takes to go on.
      this.levels[level] = added(this.levels[level], result, options.least_groups);
    }
    if (options.by === 'difficulty') this.level = this.reached();
  }

  /**
   * The task of a group.
   * @param cursor where the last choice has left the order
   * @param isLeftOut tasks that are not played any more
   */
  choose(group: number, cursor: number, isLeftOut: (place: number) => boolean): Chosen {
    const { options } = this.parts;
    const counts = this.counts(isLeftOut);
    const withReason = (reason: ChoiceReason, place: number, next: number): Chosen => ({
      place,
      cursor: next,
      choice: { reason, ...counts, ...(options.by === 'difficulty' ? { level: this.level } : {}) },
    });
    const isHeld = (place: number) => isLeftOut(place) || this.isWaiting(place, isLeftOut);
    if (this.explores(group)) {
      const place = this.outside(group, cursor, isHeld);
      if (place !== undefined) return withReason('explored', place, cursor);
    }
    const wanted = this.next(cursor, (place) => !isHeld(place) && this.isWanted(place));
    if (wanted !== undefined) return withReason(this.reasonOf(wanted.place), wanted.place, wanted.cursor);
    const any = this.next(cursor, (place) => !isLeftOut(place));
    return withReason('nothing_else', any?.place ?? this.parts.order.at(cursor), any?.cursor ?? cursor + 1);
  }

  /** The next of the order that fits; undefined where none does. */
  private next(
    cursor: number,
    fits: (place: number) => boolean,
  ): { place: number; cursor: number } | undefined {
    const { order, tasks } = this.parts;
    // Twice around: with weights, a source with a small share may hold the only task that fits.
    for (let step = 0; step < 2 * tasks.length; step++) {
      const place = order.at(cursor + step);
      if (fits(place)) return { place, cursor: cursor + step + 1 };
    }
    return undefined;
  }

  private explores(group: number): boolean {
    const { options, seed } = this.parts;
    return numberOf(`explore/${seed}/${group}`) / 2 ** 32 < options.explore;
  }

  /**
   * A task that is not trained now: of those that were measured the one that was tried longest ago, behind those of groups whose results are
   * still to come.
   */
  private outside(group: number, cursor: number, isHeld: (place: number) => boolean): number | undefined {
    if (this.parts.options.by === 'difficulty') {
      return this.next(cursor, (place) => !isHeld(place) && this.levelOf(place) !== this.level)?.place;
    }
    const isOutside = (place: number) => ['tooHard', 'tooEasy'].includes(this.standingOf(place));
    const oldestFirst = [...this.tallies]
      .filter(([place]) => isOutside(place) && !isHeld(place))
      .toSorted(([, a], [, b]) => a.last - b.last)
      .map(([place]) => place);
    return oldestFirst.at(this.exploredBefore(group) % Math.max(1, oldestFirst.length));
  }

  /** How many groups before one explore, of those that were not measured yet. */
  private exploredBefore(group: number): number {
    let explored = 0;
    for (let each = this.newestGroup + 1; each < group; each++) if (this.explores(each)) explored += 1;
    return explored;
  }

  private isWanted(place: number): boolean {
    if (this.parts.options.by === 'difficulty') return this.levelOf(place) === this.level;
    const standing = this.standingOf(place);
    return standing === 'inBand' || standing === 'unmeasured';
  }

  private reasonOf(place: number): ChoiceReason {
    if (this.parts.options.by === 'difficulty') return 'level';
    return this.standingOf(place) === 'inBand' ? 'measured' : 'new';
  }

  private standingOf(place: number): Standing {
    const { least_episodes: least, lowest, highest } = this.parts.options;
    const tally = this.tallies.get(place);
    if (tally === undefined || tally.seen < least) return 'unmeasured';
    const success = tally.score / tally.episodes;
    if (success < lowest) return 'tooHard';
    return success > highest ? 'tooEasy' : 'inBand';
  }

  /** Whether something is to be learnt before it that still can be. */
  private isWaiting(place: number, isLeftOut: (place: number) => boolean): boolean {
    const before = this.parts.tasks.prerequisites.get(place) ?? [];
    return before.some((each) => {
      if (isLeftOut(each)) return false;
      const standing = this.standingOf(each);
      return standing === 'unmeasured' || standing === 'tooHard';
    });
  }

  private counts(isLeftOut: (place: number) => boolean): Omit<CurriculumChoice, 'reason' | 'level'> {
    const counts = { inBand: 0, tooHard: 0, tooEasy: 0, unmeasured: this.parts.tasks.length };
    for (const place of this.tallies.keys()) {
      const standing = this.standingOf(place);
      if (standing === 'unmeasured') continue;
      counts[standing] += 1;
      counts.unmeasured -= 1;
    }
    const waiting = [...this.parts.tasks.prerequisites.keys()].filter((place) =>
      this.isWaiting(place, isLeftOut),
    ).length;
    return { ...counts, waiting };
  }

  private levelOf(place: number): number {
    const difficulty = this.parts.tasks.difficultyAt(place);
    return difficulty === undefined ? UNKNOWN_LEVEL : TASK_DIFFICULTIES.indexOf(difficulty);
  }

  /** The difficulty that is to be trained: once reached, it is not left for an easier one. */
  private reached(): number {
    const { threshold, least_groups: least } = this.parts.options;
    const { groups, score, episodes } = this.levels[this.level];
    const isDone = groups >= least && score / episodes >= threshold;
    return isDone ? this.nextLevel(this.level) : this.level;
  }

  /** The next difficulty of which there is a task; the same where there is none. */
  private nextLevel(level: number): number {
    const { tasks } = this.parts;
    const there = new Set<number>();
    for (let place = 0; place < tasks.length && there.size < TASK_DIFFICULTIES.length; place++) {
      there.add(this.levelOf(place));
    }
    return [...there].toSorted((a, b) => a - b).find((each) => each > level) ?? level;
  }
}

function added(tally: Tally | undefined, { group, episodes, score }: GroupResult, memory: number): Tally {
  const kept = 1 - 1 / memory;
  return {
    episodes: (tally?.episodes ?? 0) * kept + episodes,
    score: (tally?.score ?? 0) * kept + score * episodes,
    groups: (tally?.groups ?? 0) + 1,
    seen: (tally?.seen ?? 0) + episodes,
    last: group,
  };
}

/** Of a state: what is to be published next, where that was decided already. */
export function chosenBefore(chosen: ChosenTask | undefined, group: number): ChosenTask | undefined {
  return chosen?.group === group ? chosen : undefined;
}

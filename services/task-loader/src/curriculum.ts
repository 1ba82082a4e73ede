import {
  type ChoiceReason,
  type CurriculumChoice,
  type CurriculumState,
  type GroupResult,
} from '@ui-rl/contracts';
import { TASK_DIFFICULTIES, type TaskList } from '@ui-rl/plugin-kit';
import type { CurriculumGroup } from '@ui-rl/settings';
import { added, columnsOf, talliesOf, type Tally, UNMEASURED } from './tally';
import { numberOf, TaskOrder, type WeightedOrder } from './task-order';

type Standing = 'inBand' | 'tooHard' | 'tooEasy' | 'unmeasured';

/** A curriculum's choice, and its position afterwards. */
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
 * Chooses tasks by their measurements. It is a function of the seed, of the group index and of the results of the
 * groups so far, in their order: a new process gets these from `state`, and later ones from the events of the run.
 */
export class Curriculum {
  /** Index of a task → its measurements. */
  private readonly tallies = new Map<number, Tally>();
  /** Difficulty → the measurements of all its tasks. */
  private levels = TASK_DIFFICULTIES.map(() => UNMEASURED);
  private level: number;
  private lastStep = 0;
  /** Index of the group after the latest one that was measured. */
  private nextGroup = 0;
  /** All indices, shuffled by the seed; computed on demand. */
  private shuffled: number[] | undefined;

  constructor(private readonly parts: CurriculumParts) {
    this.level = this.nextLevel(-1);
  }

  /** The latest step whose results are known. */
  get step(): number {
    return this.lastStep;
  }

  /** All measurements. */
  get state(): CurriculumState {
    return {
      step: this.lastStep,
      nextGroup: this.nextGroup,
      level: this.level,
      levels: columnsOf(this.levels),
      places: [...this.tallies.keys()],
      tasks: columnsOf([...this.tallies.values()]),
    };
  }

  /** Restores earlier measurements, unless its own are newer. */
  restore({ step, nextGroup, level, levels, places, tasks }: CurriculumState): void {
    if (step <= this.lastStep) return;
    this.lastStep = step;
    this.nextGroup = nextGroup;
    this.level = level;
    this.levels = talliesOf(levels);
    this.tallies.clear();
    for (const [index, tally] of talliesOf(tasks).entries()) this.tallies.set(places[index], tally);
  }

  /** Adds the results of a step's groups. A repeated step has no effect. */
  async learn(step: number, results: readonly GroupResult[]): Promise<void> {
    if (step <= this.lastStep) return;
    const { tasks, options } = this.parts;
    const ordered = results.toSorted((a, b) => a.group - b.group);
    const places = await Promise.all(ordered.map(({ task }) => tasks.placeOf(task)));
    if (step <= this.lastStep) return;
    // Synchronous from here on, so that no choice is based on a part of a step.
    this.lastStep = step;
    this.nextGroup = Math.max(this.nextGroup, (ordered.at(-1)?.group ?? -1) + 1);
    for (const [index, result] of ordered.entries()) {
      const place = places[index];
      if (place === undefined) continue;
      this.tallies.set(place, added(this.tallies.get(place), result, options.memory));
      const level = this.levelOf(place);
      // For a difficulty, only the newest groups count, as many as promotion requires.
      this.levels[level] = added(this.levels[level], result, options.least_groups);
    }
    if (options.by === 'difficulty') this.level = this.reached();
  }

  /**
   * The task of a group.
   * @param cursor position in the order after the last choice
   * @param isLeftOut tasks that are excluded
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
      const place = this.outside(group, isHeld);
      if (place !== undefined) return withReason('explored', place, cursor);
    }
    const wanted = this.next(cursor, (place) => !isHeld(place) && this.isWanted(place));
    if (wanted !== undefined) return withReason(this.reasonOf(wanted.place), wanted.place, wanted.cursor);
    const any = this.next(cursor, (place) => !isLeftOut(place));
    return withReason('nothing_else', any?.place ?? this.parts.order.at(cursor), any?.cursor ?? cursor + 1);
  }

  /** The next suitable task in the order; undefined if there is none. */
  private next(
    cursor: number,
    fits: (place: number) => boolean,
  ): { place: number; cursor: number } | undefined {
    const { order, tasks } = this.parts;
    // Two rounds: with weights, a source with a small share may have the only suitable task.
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
   * A task outside of the band: the one that was tried longest ago, or never, after those of groups with pending
   * results.
   */
  private outside(group: number, isHeld: (place: number) => boolean): number | undefined {
    const lastOf = (place: number): number => (this.tallies.get(place) ?? UNMEASURED).last;
    const oldestFirst = this.explorable
      .filter((place) => this.isOutside(place) && !isHeld(place))
      .toSorted((a, b) => lastOf(a) - lastOf(b));
    return oldestFirst.at(this.exploredBefore(group) % Math.max(1, oldestFirst.length));
  }

  private isOutside(place: number): boolean {
    if (this.parts.options.by === 'difficulty') return this.levelOf(place) !== this.level;
    return ['tooHard', 'tooEasy'].includes(this.standingOf(place));
  }

  /** The tasks to explore: by difficulty, untried ones are included; the kinds alternate. */
  private get explorable(): readonly number[] {
    const { options, tasks, seed } = this.parts;
    if (options.by !== 'difficulty') return [...this.tallies.keys()];
    if (this.shuffled === undefined) {
      const order = new TaskOrder(tasks.length, seed);
      this.shuffled = Array.from({ length: tasks.length }, (_, index) => order.at(index));
    }
    return this.shuffled;
  }

  /** Number of earlier groups with pending results that explore. */
  private exploredBefore(group: number): number {
    let explored = 0;
    for (let each = this.nextGroup; each < group; each++) if (this.explores(each)) explored += 1;
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

  /** Whether it has an unmet prerequisite that can still be learned. */
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

  /** The current difficulty: once reached, it does not fall back to an easier one. */
  private reached(): number {
    const { threshold, least_groups: least } = this.parts.options;
    const { groups, score, episodes } = this.levels[this.level];
    const isDone = groups >= least && score / episodes >= threshold;
    return isDone ? this.nextLevel(this.level) : this.level;
  }

  /** The next difficulty that has a task; the same if there is none. */
  private nextLevel(level: number): number {
    const { tasks } = this.parts;
    const there = new Set<number>();
    for (let place = 0; place < tasks.length && there.size < TASK_DIFFICULTIES.length; place++) {
      there.add(this.levelOf(place));
    }
    return [...there].toSorted((a, b) => a - b).find((each) => each > level) ?? level;
  }
}

import { createHash } from 'node:crypto';

/**
 * In which order tasks are released: all of them in each epoch, every epoch in an order of its own. The same seed gives
 * the same order, so nothing but the number of the group has to be remembered.
 */
export class TaskOrder<T> {
  private epoch = -1;
  private shuffled: T[] = [];

  /** `tasks` must not be empty. */
  constructor(
    private readonly tasks: readonly T[],
    private readonly seed: number,
  ) {}

  /**
   * The task of a group, by the group's number from 0.
   * @param isLeftOut the next task of the epoch takes the place of one that is; where all are, none is
   */
  at(index: number, isLeftOut: (task: T) => boolean = () => false): T {
    const epoch = Math.floor(index / this.tasks.length);
    if (epoch !== this.epoch) {
      this.shuffled = shuffle(this.tasks, `${this.seed}/${epoch}`);
      this.epoch = epoch;
    }
    const place = index % this.tasks.length;
    const following = [...this.shuffled.slice(place), ...this.shuffled.slice(0, place)];
    return following.find((task) => !isLeftOut(task)) ?? following[0];
  }
}

/** Sorts by a hash of key and place: the order depends on nothing else. */
function shuffle<T>(items: readonly T[], key: string): T[] {
  const rank = (place: number) => createHash('sha256').update(`order/${key}/${place}`).digest('hex');
  return items
    .map((item, place) => ({ item, rank: rank(place) }))
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ item }) => item);
}

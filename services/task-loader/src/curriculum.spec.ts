import type { CurriculumState, GroupResult } from '@ui-rl/contracts';
import type { TaskList } from '@ui-rl/plugin-kit';
import { CurriculumGroup } from '@ui-rl/settings';
import { Curriculum } from './curriculum';
import { TaskOrder } from './task-order';

type Tasks = Pick<TaskList, 'length' | 'placeOf' | 'difficultyAt' | 'prerequisites'>;

function tasksOf(
  length: number,
  {
    difficulties = [],
    prerequisites = [],
  }: { difficulties?: ('easy' | 'medium' | 'hard')[]; prerequisites?: [number, number[]][] } = {},
): Tasks {
  return {
    length,
    placeOf: async (id) => Number(id),
    difficultyAt: (place) => difficulties[place],
    prerequisites: new Map(prerequisites),
  };
}

function curriculumOf(tasks: Tasks, options: Partial<CurriculumGroup>, seed = 1): Curriculum {
  const group = Object.assign(new CurriculumGroup(), { by: 'success' }, options);
  return new Curriculum({ options: group, order: new TaskOrder(tasks.length, seed), tasks, seed });
}

const none = () => false;
const result = (group: number, place: number, score: number, episodes = 4): GroupResult => ({
  group,
  task: String(place),
  episodes,
  score,
});

/** Chooses this many groups in steps of four; `success` determines the result for each task. */
async function play(
  curriculum: Curriculum,
  groups: number,
  success: (place: number, group: number) => number,
) {
  const chosen: { place: number; reason: string }[] = [];
  let cursor = 0;
  let results: GroupResult[] = [];
  for (let group = 0; group < groups; group++) {
    const next = curriculum.choose(group, cursor, none);
    cursor = next.cursor;
    chosen.push({ place: next.place, reason: next.choice.reason });
    results.push(result(group, next.place, success(next.place, group)));
    if (results.length < 4) continue;
    await curriculum.learn((group + 1) / 4, results);
    results = [];
  }
  return chosen;
}

describe('a curriculum by success', () => {
  // Of ten tasks, three never succeed, three always do, and four can be learned from.
  const success = (place: number) => (place < 3 ? 0 : place < 6 ? 1 : 0.5);

  it('keeps to tasks within the band, and tries the others again in a share of the groups', async () => {
    const chosen = await play(curriculumOf(tasksOf(10), { explore: 0.2 }), 400, success);
    const late = chosen.slice(100);
    const inBand = late.filter(({ place }) => place >= 6);
    expect(inBand.length / late.length).toBeGreaterThan(0.7);
    expect(late.filter(({ reason }) => reason === 'explored').length / late.length).toBeCloseTo(0.2, 1);
    expect(late.every(({ place, reason }) => (reason === 'measured') === place >= 6)).toBe(true);
    // Each of the others in turn, so that newly solvable ones are found.
    const explored = late.filter(({ reason }) => reason === 'explored').map(({ place }) => place);
    expect(new Set(explored).size).toBe(6);
    // And each within the band equally often.
    const counts = [6, 7, 8, 9].map((place) => inBand.filter((each) => each.place === place).length);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
  });

  it('tries others one after the other, also before the first of them was measured', async () => {
    const curriculum = curriculumOf(tasksOf(4), { explore: 1 });
    await curriculum.learn(
      1,
      [0, 1, 2].map((place) => result(place, place, 0, 8)),
    );
    const explored = [3, 4, 5, 6].map((group) => curriculum.choose(group, 0, none).place);
    expect(explored).toEqual([0, 1, 2, 0]);
  });

  it('takes a task back that has become possible', async () => {
    const chosen = await play(curriculumOf(tasksOf(10), { explore: 0.2 }), 800, (place, group) =>
      place === 0 && group > 200 ? 0.5 : success(place),
    );
    const regular = (from: number, to: number) =>
      chosen.slice(from, to).filter(({ place, reason }) => place === 0 && reason === 'measured').length;
    expect(regular(100, 200)).toBe(0);
    expect(regular(600, 800)).toBeGreaterThan(10);
  });

  it('says nothing of a task before it was measured often enough', async () => {
    const curriculum = curriculumOf(tasksOf(2), { explore: 0, least_episodes: 8 });
    await curriculum.learn(1, [result(0, 0, 0)]);
    expect(curriculum.choose(1, 0, none).choice).toMatchObject({ unmeasured: 2, tooHard: 0 });
    await curriculum.learn(2, [result(1, 0, 0), result(2, 1, 1, 8)]);
    expect(curriculum.choose(3, 0, none).choice).toMatchObject({
      ...{ reason: 'nothing_else', unmeasured: 0, tooHard: 1, tooEasy: 1, inBand: 0 },
    });
  });

  it('is the same for the same seed and results, also if results are repeated', async () => {
    const whole = await play(curriculumOf(tasksOf(10), {}), 60, success);
    expect(await play(curriculumOf(tasksOf(10), {}), 60, success)).toEqual(whole);
    expect(await play(curriculumOf(tasksOf(10), {}, 2), 60, success)).not.toEqual(whole);
    const curriculum = curriculumOf(tasksOf(2), { explore: 0, least_episodes: 4 });
    await curriculum.learn(1, [result(0, 0, 0.5)]);
    await curriculum.learn(1, [result(0, 0, 0), result(1, 0, 0)]);
    expect(curriculum.choose(2, 0, none).choice.inBand).toBe(1);
    expect(curriculum.step).toBe(1);
  });

  it('leaves out what is taken out, and what waits for another task', async () => {
    const tasks = tasksOf(3, { prerequisites: [[2, [0]]] });
    const curriculum = curriculumOf(tasks, { explore: 0, least_episodes: 4 });
    const places = () => {
      let cursor = 0;
      return Array.from({ length: 6 }, (_, group) => {
        const next = curriculum.choose(group, cursor, (place) => place === 1);
        cursor = next.cursor;
        return next.place;
      });
    };
    expect(new Set(places())).toEqual(new Set([0]));
    expect(curriculum.choose(0, 0, none).choice.waiting).toBe(1);
    await curriculum.learn(1, [result(0, 0, 0.6)]);
    expect(new Set(places())).toEqual(new Set([0, 2]));
  });

  it('does not wait for a task that is taken out', () => {
    const curriculum = curriculumOf(tasksOf(2, { prerequisites: [[1, [0]]] }), { explore: 0 });
    const { place, choice } = curriculum.choose(0, 0, (each) => each === 0);
    expect([place, choice.reason, choice.waiting]).toEqual([1, 'new', 0]);
  });
});

describe('a curriculum by difficulty', () => {
  const difficulties = ['easy', 'easy', 'hard', 'hard'] as ('easy' | 'hard')[];

  it('advances when the easier tasks succeed, past a difficulty that no task has, and never back', async () => {
    const curriculum = curriculumOf(tasksOf(4, { difficulties }), {
      by: 'difficulty',
      explore: 0,
      least_groups: 6,
    });
    const chosen = await play(curriculum, 40, (place, group) => (place < 2 ? Math.min(1, group / 8) : 0));
    const first = chosen.findIndex(({ place }) => place >= 2);
    expect(first).toBeGreaterThanOrEqual(8);
    expect(chosen.slice(0, first).every(({ place }) => place < 2)).toBe(true);
    expect(chosen.slice(first).every(({ place }) => place >= 2)).toBe(true);
    expect(curriculum.choose(40, 0, none).choice).toMatchObject({ reason: 'level', level: 2 });
  });

  it('stays where they do not, and tries others in a share of the groups', async () => {
    const curriculum = curriculumOf(tasksOf(4, { difficulties }), { by: 'difficulty', explore: 0.25 });
    const chosen = await play(curriculum, 200, () => 0.3);
    const others = chosen.filter(({ place }) => place >= 2);
    expect(others.every(({ reason }) => reason === 'explored')).toBe(true);
    expect(others.length / chosen.length).toBeCloseTo(0.25, 1);
  });

  it('tries others one after the other, measured or not, the one that was tried longest ago first', async () => {
    const curriculum = curriculumOf(tasksOf(5, { difficulties: [...difficulties, 'hard'] }), {
      ...{ by: 'difficulty', explore: 1 },
    });
    const [a, b, c, ...later] = (await play(curriculum, 12, () => 0)).map(({ place }) => place);
    expect(new Set([a, b, c])).toEqual(new Set([2, 3, 4]));
    // Steps of four groups: the first one of each step is also the last one.
    expect(later).toEqual([a, b, c, a, b, c, a, b, c]);
  });
});

it.each(['success', 'difficulty'] as const)(
  'continues from its stored measurements by %s with equal results',
  async (by) => {
    const difficulties = Array.from({ length: 10 }, (_, place) => (place < 5 ? ('easy' as const) : 'hard'));
    const tasks = tasksOf(10, { difficulties, prerequisites: [[9, [0]]] });
    const options = { by, explore: 0.3, least_groups: 6, threshold: 0.4 };
    const success = (place: number) => place / 10;
    const curriculum = curriculumOf(tasks, options);
    await play(curriculum, 40, success);
    const resumed = curriculumOf(tasks, options);
    resumed.restore(JSON.parse(JSON.stringify(curriculum.state)) as CurriculumState);
    expect(resumed.step).toBe(10);
    const next = async (each: Curriculum) => {
      const chosen = [];
      for (let step = 11; step < 20; step += 1) {
        const groups = [0, 1, 2, 3].map((group) => 4 * step + group);
        const choices = groups.map((group) => each.choose(group, group, none));
        chosen.push(...choices);
        await each.learn(
          step,
          choices.map(({ place }, index) => result(groups[index], place, success(place))),
        );
      }
      return chosen;
    };
    expect(await next(resumed)).toEqual(await next(curriculum));
    // An older state adds nothing.
    const older = curriculumOf(tasks, options);
    await older.learn(3, [result(0, 0, 1)]);
    resumed.restore(older.state);
    expect(resumed.state).toEqual(curriculum.state);
  },
);

import * as fc from 'fast-check';
import { CHECK_RESULTS, type EpisodeTurn, type JudgedEpisode, type RewardContext } from '@ui-rl/plugin-kit';
import { components } from './index';
import { ShapedOptions, weightsProblem } from './options';
import { shapedReward } from './shaped';

const [shaped] = components;
const CHECKS = ['a', 'b', 'c', 'd'].map((path) => ({ path, operator: 'equals' as const, value: true }));

const observation = (sha256: string) => ({ sha256, width: 1, height: 1, png: async () => new Uint8Array() });

interface Played {
  screen: string;
  action?: 'click' | 'type' | 'wait' | 'finish';
  state?: Record<string, unknown>;
}

function episode(played: Played[], changes: Partial<JudgedEpisode> = {}): JudgedEpisode {
  const turns = played.map(({ screen, action, state }, index): EpisodeTurn => {
    const actions = {
      click: { action: 'click', x: 1, y: 2 },
      type: { action: 'type', text: 'x' },
      wait: { action: 'wait', seconds: 1 },
      finish: { action: 'finish' },
    };
    return {
      index,
      observation: observation(screen),
      text: '',
      actions: action === undefined ? [] : [actions[action] as never],
      ...(action === undefined ? { parseError: 'no_action: say what to do' } : {}),
      stateAfter: state,
    };
  });
  return {
    task: { description: 'Do it', checks: CHECKS },
    seed: 0,
    success: false,
    status: 'completed',
    turns,
    finalObservation: observation('last'),
    stateBefore: {},
    stateAfter: {},
    ...changes,
  };
}

const parts = (played: JudgedEpisode, options: Partial<ShapedOptions> = {}) =>
  shapedReward(played, Object.assign(new ShapedOptions(), options));

function total(played: JudgedEpisode, options = new ShapedOptions()): number {
  const { episode: whole, turns = [] } = shapedReward(played, options);
  const all = [whole, ...turns].flatMap((each) => Object.values(each as Record<string, number>));
  return all.reduce((sum, value) => sum + value, 0);
}

test('pays success, and takes for turns, for what was done on the same screen before, and for answers without a readable action', () => {
  const played = episode(
    [
      { screen: 'one', action: 'click' },
      { screen: 'one', action: 'click' },
      { screen: 'two', action: 'click' },
      { screen: 'two', action: 'wait' },
      { screen: 'two', action: 'wait' },
      { screen: 'one' },
      { screen: 'one', action: 'click' },
    ],
    { success: true },
  );
  const { episode: whole, turns } = parts(played, { progress: 0 });
  expect(whole).toEqual({ success: 1, early_finish: 0 });
  const none = { step_cost: -0.005, repeated_actions: 0, parse_errors: 0 };
  const again = { ...none, repeated_actions: -0.01 };
  expect(turns).toEqual([none, again, none, none, none, { ...none, parse_errors: -0.02 }, again]);
});

test('pays progress in the turn that made it if states come by turns, else at the end; both have the same sum', () => {
  const states = [{ a: true }, { a: true, b: true }, { b: true }, { b: true, c: true }];
  const told = states.map((state, index) => ({ screen: `${index}`, action: 'click' as const, state }));
  const ends = { stateBefore: { d: true }, stateAfter: states.at(-1) };
  const byTurns = parts(episode(told, ends), { progress: 0.4 });
  const gained = byTurns.turns?.map((turn) => (turn as Record<string, number>).progress);
  expect(gained?.map((value) => Number(value.toFixed(6)))).toEqual([0, 0.1, -0.1, 0.1]);
  expect(byTurns.episode).toEqual({ success: 0, early_finish: 0 });
  const untold = told.map(({ screen, action }) => ({ screen, action }));
  expect(parts(episode(untold, ends), { progress: 0.4 }).episode).toEqual({
    success: 0,
    early_finish: 0,
    progress: expect.closeTo(0.1) as number,
  });
  expect(parts(episode(told, { ...ends, stateAfter: null })).episode).toEqual({
    success: 0,
    early_finish: 0,
    progress: 0,
  });
});

test('takes for ending the episode before the task is done: from who ends it, where a verifier says that it failed', () => {
  const ended: Played[] = [
    { screen: 'one', action: 'click' },
    { screen: 'two', action: 'finish' },
  ];
  const early = (played: Played[], success: boolean | null) =>
    (parts(episode(played, { success }), { early_finish: 0.3 }).episode as Record<string, number>)
      .early_finish;
  expect(early(ended, false)).toBe(-0.3);
  expect(early(ended, true)).toBe(0);
  expect(early(ended, null)).toBe(0);
  expect(early(ended.slice(0, 1), false)).toBe(0);
  expect(early([...ended, { screen: 'two' }], false)).toBe(0);
});

test('checks of a page count from the end on, when they are answered', () => {
  const checks = [
    CHECKS[0],
    { kind: 'url', value: '*/cart' } as const,
    { kind: 'text', value: 'Paid' } as const,
  ];
  const found = { 1: { holds: true, found: '/cart' }, 2: { holds: false, found: 'nothing' } };
  const played = episode([{ screen: 'a', action: 'click' }], {
    task: { description: 'Pay', checks },
    stateBefore: { a: true },
    stateAfter: { a: true, [CHECK_RESULTS]: found },
  });
  expect(parts(played, { progress: 0.3 }).turns).toEqual([
    expect.objectContaining({ progress: expect.closeTo(0.1) as number }),
  ]);
});

test('a turn takes nothing once max_penalty is used up', () => {
  const { turns } = parts(episode([{ screen: 'a' }, { screen: 'a' }]), {
    parse_error: 0.4,
    step_cost: 0.1,
    max_penalty: 0.7,
  });
  const taken = (turns as Record<string, number>[]).map(({ step_cost, parse_errors }) => [
    step_cost,
    parse_errors,
  ]);
  expect(taken).toEqual([
    [-0.1, -0.4],
    [-0.1, expect.closeTo(-0.1) as number],
  ]);
});

const state = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), fc.boolean());
const turn = fc.record(
  {
    screen: fc.constantFrom('one', 'two'),
    action: fc.constantFrom<'click' | 'type' | 'wait' | 'finish'>('click', 'type', 'wait', 'finish'),
    state,
  },
  { requiredKeys: ['screen'] },
);
/** Of any length; many penalties exceed max_penalty. */
const anyEpisode = (success: fc.Arbitrary<boolean | null>) =>
  fc
    .record({
      turns: fc.array(turn, { minLength: 1, maxLength: 120 }),
      success,
      stateBefore: state,
      stateAfter: state,
    })
    .map(({ turns, ...rest }) => episode(turns, rest));
const weight = fc.double({ min: 0, max: 2, noNaN: true });
const weights = fc
  .record({
    success: fc.double({ min: 0.01, max: 5, noNaN: true }),
    progress: weight,
    step_cost: weight,
    repeated_action: weight,
    parse_error: weight,
    early_finish: weight,
    max_penalty: weight,
  })
  .map((given): ShapedOptions => Object.assign(new ShapedOptions(), given));

test.each([
  ['the default weights', fc.constant(new ShapedOptions())],
  [
    'any weights that are not refused',
    weights.filter(
      (each) => weightsProblem(each) === null && each.success > 2 * each.progress + each.max_penalty + 1e-9,
    ),
  ],
])('no failed episode earns as much as a successful one, with %s', (_, options) => {
  fc.assert(
    fc.property(
      anyEpisode(fc.constant(true)),
      anyEpisode(fc.constantFrom(false, null)),
      options,
      (won, lost, given) => {
        expect(total(won, given)).toBeGreaterThan(total(lost, given));
      },
    ),
    { numRuns: 150 },
  );
});

test('weights that would let a failure earn as much are refused by name, when the run file is read and when it is made', async () => {
  const wrong = Object.assign(new ShapedOptions(), { max_penalty: 0.8 });
  const message =
    'reward shaped: success is 1, but a failed episode may be ahead by 2 × progress + max_penalty = 1.2, and would earn as much as a ' +
    'successful one: raise success, or lower progress or max_penalty';
  expect(shaped.conflicts?.(wrong, {})).toEqual([message]);
  expect(() => shaped.create(wrong, {} as RewardContext)).toThrow(message);
  expect(shaped.conflicts?.(new ShapedOptions(), {})).toEqual([]);
  // These two episodes would be ranked in the wrong order.
  const lost = episode([{ screen: 'a', action: 'click' }], {
    stateAfter: { a: true, b: true, c: true, d: true },
  });
  const slow = Array.from({ length: 100 }, () => ({ screen: 'a' }));
  const won = episode(slow, { success: true, stateBefore: { a: true, b: true, c: true, d: true } });
  expect(total(lost, wrong)).toBeGreaterThan(total(won, wrong));
});

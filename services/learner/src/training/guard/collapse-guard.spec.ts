import { Random } from '@ui-rl/random';
import { CollapseGuard, type GuardedBatch, type Verdict } from './collapse-guard';
import { firstState, type GuardState } from './guard-state';

const OPTIONS = {
  enabled: true,
  patience: 5,
  drop: 0.7,
  max_restores: 2,
  learning_rate_factor: 0.3,
};

type Played = Partial<Omit<GuardedBatch, 'results'>> & { task?: string; succeeded: number; of?: number };

/** One task that is played in each batch, unless the batch says otherwise. */
function batchOf({ task = 'a', succeeded, of = 16, ...batch }: Played): GuardedBatch {
  return {
    step: 0,
    results: [{ group: 0, task, episodes: of, score: succeeded / of }],
    readable: [2 * of, 2 * of],
    hasSignal: succeeded > 0 && succeeded < of,
    ...batch,
  };
}

/**
 * A run whose policies succeed this often in 16 episodes, one after the other; `restore` takes effect as in a run.
 */
function play(state: GuardState, batches: readonly Played[], options = OPTIONS): Verdict[] {
  return batches.map((played, step) => {
    const verdict = new CollapseGuard(options, state).judge(batchOf({ step, ...played }));
    if (verdict.kind === 'restore') state.notBefore = step + 1;
    return verdict;
  });
}

const kinds = (verdicts: readonly Verdict[]): string[] => verdicts.map(({ kind }) => kind);

it('goes back at once where nothing succeeds any more, nor can be learnt from', () => {
  const state = firstState();
  const verdicts = play(state, [{ succeeded: 9 }, { succeeded: 0, of: 80 }, { succeeded: 9 }]);
  expect(verdicts).toEqual([
    { kind: 'train' },
    {
      kind: 'restore',
      step: 0,
      reason:
        'success fell to 0 % of 80 episodes, from 56 % on the same tasks at step 1: the run goes back to the weights of step 0, ' +
        'with 0.3 of its learning rate (1 of 2 times)',
    },
    { kind: 'train' },
  ]);
  expect(state).toMatchObject({ restores: 1, learningRate: 0.3, best: 2 });
});

it('gives a batch that can be learnt from a second chance', () => {
  const [first, second, third] = [{ succeeded: 15 }, { succeeded: 2 }, { succeeded: 14 }];
  expect(kinds(play(firstState(), [first, second, third]))).toEqual(['train', 'train', 'train']);
  expect(play(firstState(), [first, second, second])[2]).toMatchObject({ kind: 'restore', step: 0 });
});

it('notices a fall to half that no batch proves by itself', () => {
  const good = new Array<Played>(8).fill({ succeeded: 15 });
  const half = new Array<Played>(8).fill({ succeeded: 8 });
  const verdicts = play(firstState(), [...good, ...half]);
  const at = verdicts.findIndex(({ kind }) => kind === 'restore');
  expect(at).toBeGreaterThan(9);
  expect(verdicts[at]).toMatchObject({ step: 7, reason: expect.stringContaining('success fell to 50 %') });
});

it('goes back where answers cannot be read any more', () => {
  const state = firstState();
  const unread: Played = { succeeded: 8, readable: [4, 48] };
  const verdicts = play(state, [{ succeeded: 8, readable: [40, 48] }, unread, unread]);
  expect(verdicts[2]).toMatchObject({
    kind: 'restore',
    step: 0,
    reason: expect.stringMatching(/^the share of readable answers fell to 8 %, from 83 %/),
  });
});

it('goes back where success fell a little and no batch teaches anything any more', () => {
  const batches = [{ succeeded: 14 }, ...new Array<Played>(5).fill({ succeeded: 10, hasSignal: false })];
  expect(play(firstState(), batches).at(-1)).toMatchObject({
    kind: 'restore',
    step: 0,
    reason: expect.stringMatching(/^no batch of the last 5 had a learning signal, and success fell to 63 %/),
  });
});

it('ends the run with the best weights where going back does not help', () => {
  const state = firstState();
  const fall: Played[] = [{ succeeded: 9 }, { succeeded: 0, of: 80 }];
  const verdicts = play(state, [...fall, ...fall, ...fall]);
  expect(kinds(verdicts)).toEqual(['train', 'restore', 'train', 'restore', 'train', 'restore']);
  expect(verdicts[5]).toMatchObject({ step: 4 });
  expect(state.ended).toBe(
    'success fell to 0 % of 80 episodes, from 56 % on the same tasks; the run went back 2 times before, and ends with the weights of step 4',
  );
});

it('takes the weights that it went back to as they are', () => {
  const state = firstState();
  const batches = [{ succeeded: 15 }, { succeeded: 0 }, { succeeded: 2 }, { succeeded: 2 }, { succeeded: 3 }];
  expect(kinds(play(state, batches))).toEqual(['train', 'restore', 'train', 'train', 'train']);
});

it('compares a batch with what its own tasks reached before', () => {
  const easyThenHard: Played[] = [];
  for (let round = 0; round < 20; round += 1) {
    easyThenHard.push({ task: 'easy', succeeded: 15 }, { task: 'hard', succeeded: 0 });
  }
  expect(kinds(play(firstState(), easyThenHard))).not.toContain('restore');
  const lost = [{ task: 'easy', succeeded: 0 }];
  expect(play(firstState(), [...easyThenHard, ...lost]).at(-1)).toMatchObject({ kind: 'restore' });
});

it.each([0.03, 0.2, 0.5, 0.8, 0.97])('never restores a checkpoint while success is steady at %d', (rate) => {
  for (let seed = 0; seed < 20; seed += 1) {
    const random = new Random(seed);
    const batches = Array.from({ length: 300 }, (): Played => {
      const lucky = Array.from({ length: 16 }, () => random.next() < rate);
      return { succeeded: lucky.filter(Boolean).length, hasSignal: true };
    });
    expect(kinds(play(firstState(), batches))).not.toContain('restore');
  }
});

describe('a run that has nothing left to learn', () => {
  const solved = new Array<Played>(5).fill({ succeeded: 16 });

  it('ends as solved', () => {
    const state = firstState();
    play(state, [{ succeeded: 12 }, ...solved]);
    expect(state.ended).toBe(
      'solved: the last 80 episodes all succeeded, so that no batch of the last 5 had a learning signal',
    );
  });

  it('does not end with few episodes, with a new task, or with a task that failed when last played', () => {
    const state = firstState();
    play(state, new Array<Played>(8).fill({ succeeded: 2, of: 2 }));
    expect(state.ended).toBeUndefined();
    const withNew = firstState();
    play(withNew, [...solved.slice(1), { task: 'b', succeeded: 16 }, { succeeded: 16 }]);
    expect(withNew.ended).toBeUndefined();
    const withOpen = firstState();
    play(withOpen, [{ task: 'b', succeeded: 3 }, ...solved, ...solved]);
    expect(withOpen.ended).toBeUndefined();
  });

  it('ends where no batch ever had a signal, after four times as long', () => {
    const state = firstState();
    play(state, new Array<Played>(19).fill({ succeeded: 0 }));
    expect(state.ended).toBeUndefined();
    play(state, [{ succeeded: 0 }]);
    expect(state.ended).toMatch(/^no batch of the last 20 had a learning signal: .*not-learning/);
  });
});

it('decides the same after its state was stored', () => {
  const batches: Played[] = [{ succeeded: 9 }, { succeeded: 10 }, { succeeded: 4 }, { succeeded: 0, of: 80 }];
  const whole = play(firstState(), batches);
  let state = firstState();
  const stored = batches.map((batch, step) => {
    state = JSON.parse(JSON.stringify(state)) as GuardState;
    return new CollapseGuard(OPTIONS, state).judge(batchOf({ step, ...batch }));
  });
  expect(stored).toEqual(whole);
  expect(whole.at(-1)?.kind).toBe('restore');
});

it('does nothing where it is off', () => {
  const state = firstState();
  const batches = [{ succeeded: 9 }, ...new Array<Played>(30).fill({ succeeded: 0 })];
  expect(kinds(play(state, batches, { ...OPTIONS, enabled: false }))).not.toContain('restore');
  expect(state).toEqual(firstState());
});

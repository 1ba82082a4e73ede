import type { EvaluationScore, EvaluatorState, Trajectory } from '@ui-rl/contracts';
import { makeRollout, makeTask, makeTrajectory } from '@ui-rl/testkit';
import type { Stage } from './episodes';
import type { EvaluationPlan } from './plan';
import { begin, close, EMPTY, classify, pendingEpisodes, record, tally } from './state';

const task = (id: string) => Object.assign(makeTask({ description: id }), { id });
const plan: EvaluationPlan = {
  runId: 'run',
  sets: [
    { name: 'train_goals', tasks: [task('a'), task('b')] },
    { name: 'eval_goals', tasks: [task('c')] },
  ],
  episodesPerTask: 2,
  ...{ baseline: true, warmStart: true, onlyWarmStart: false },
  every: 10,
  maxAttempts: 3,
  seed: 0,
  judgedByRewards: [],
  unchecked: [],
};
const BASELINE = { stage: 'baseline', policy: 'latest', policyVersion: 0 } as const;
const PERIODIC = {
  stage: 'periodic',
  policy: 'uirl://run/sampler_weights/000010',
  policyVersion: 10,
} as const;
const ID = 'run-baseline-train_goals';

function episode(index: number, changes: Partial<Trajectory> & { attempt?: number } = {}): Trajectory {
  const { attempt = 0, ...rest } = changes;
  const request = makeRollout({ evaluationId: ID, groupIndex: index, attempt, purpose: 'baseline' });
  return makeTrajectory({ request, ...rest });
}

const begun = begin(EMPTY, plan, BASELINE) as EvaluatorState;
const after = (...trajectories: Trajectory[]) =>
  trajectories.reduce((state, trajectory) => record(state, trajectory, 3) ?? state, begun);

const scored = (successRate: number, policyVersion = 0, stage: Stage = 'periodic'): EvaluationScore => ({
  ...{ stage, set: 'train_goals', policyVersion, checkpoint: `c${policyVersion}` },
  ...{ successRate, interval: [0, 1] },
});

describe('the state of evaluations', () => {
  it('begins a stage once, with every set', () => {
    expect(begun.open.map(({ evaluationId, outcomes }) => [evaluationId, outcomes])).toEqual([
      [ID, '....'],
      ['run-baseline-eval_goals', '..'],
    ]);
    expect(begin(begun, plan, BASELINE)).toBeNull();
    expect(begin({ ...EMPTY, stagesDone: ['baseline'] }, plan, BASELINE)).toBeNull();
  });

  it('begins a periodic evaluation once per checkpoint, also when the event comes again later', () => {
    const first = begin(EMPTY, plan, PERIODIC) as EvaluatorState;
    expect(first.open.map(({ evaluationId }) => evaluationId)).toEqual([
      'run-periodic-000010-train_goals',
      'run-periodic-000010-eval_goals',
    ]);
    const closed = first.open.reduce(
      (state, { evaluationId }) => close(state, evaluationId, scored(1)) ?? state,
      first,
    );
    expect(closed).toMatchObject({ open: [], stagesDone: [], lastPeriodicStep: 10 });
    expect(begin(closed, plan, PERIODIC)).toBeNull();
    expect(begin(closed, plan, { ...PERIODIC, policyVersion: 20 })?.open).toHaveLength(2);
  });

  it('is done with a stage at once where there is nothing to evaluate', () => {
    expect(begin(EMPTY, { ...plan, sets: [] }, BASELINE)).toEqual({ ...EMPTY, stagesDone: ['baseline'] });
  });

  it('counts each episode once', () => {
    const state = after(
      episode(0),
      episode(0, { success: false }),
      episode(3, { success: false }),
      episode(2, { success: null }),
      episode(7),
      makeTrajectory(),
    );
    expect(state.open[0].outcomes).toBe('s.uf');
    expect(pendingEpisodes(state.open[0])).toEqual([1]);
    expect(tally(state.open[0])).toEqual({ successes: 1, episodes: 2, invalid: 0, unjudged: 1 });
    expect(tally(state.open[0], (index) => index % 2 === 1)).toEqual({
      successes: 0,
      episodes: 1,
      invalid: 0,
      unjudged: 0,
    });
    expect(state.open[1]).toEqual(begun.open[1]);
  });

  it('refills an invalid episode until its attempts are used up', () => {
    const invalid = (attempt: number) => episode(1, { attempt, status: 'invalid', success: null });
    expect(classify(begun, invalid(0), 3)).toBe('refill');
    const once = after(invalid(0));
    expect(classify(once, invalid(0), 3)).toBe('ignore');
    expect(classify(once, invalid(1), 3)).toBe('refill');
    const twice = after(invalid(0), invalid(1));
    expect(classify(twice, invalid(2), 3)).toBe('count');
    expect(after(invalid(0), invalid(1), invalid(2)).open[0].outcomes).toBe('.x..');
    expect(after(invalid(0), invalid(1), episode(1, { attempt: 2 })).open[0].outcomes).toBe('.s..');
    expect(classify(begun, invalid(0), 1)).toBe('count');
  });

  it('is done with a stage when its last set is closed', () => {
    const one = close(begun, ID, scored(1)) as EvaluatorState;
    expect(one.stagesDone).toEqual([]);
    const both = close(one, 'run-baseline-eval_goals', scored(1)) as EvaluatorState;
    expect(both).toMatchObject({ open: [], stagesDone: ['baseline'], lastPeriodicStep: 0 });
    expect(close(both, ID, scored(1))).toBeNull();
  });

  it('keeps of each set the best score and the last', () => {
    const rates = [0.25, 0.75, 0.5, 0].entries();
    const scores = [...rates].reduce<EvaluationScore[]>((known, [step, rate]) => {
      const opened = begin({ ...EMPTY, scores: known }, plan, { ...PERIODIC, policyVersion: step + 1 })!;
      return close(opened, opened.open[0].evaluationId, scored(rate, step))!.scores!;
    }, []);
    expect(scores).toEqual([scored(0.75, 1), scored(0, 3)]);
    const imitated = scored(0.5, 0, 'warm_start');
    const opened = begin({ ...EMPTY, scores: [imitated, scored(0.75, 1)] }, plan, PERIODIC)!;
    const kept = close(opened, opened.open[0].evaluationId, scored(0.25, 2))!.scores;
    expect(kept).toEqual([imitated, scored(0.75, 1), scored(0.25, 2)]);
  });
});

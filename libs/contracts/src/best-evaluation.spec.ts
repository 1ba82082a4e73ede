import { bestEvaluation } from './best-evaluation';
import type { EvaluationStage } from './events';
import { wilson } from './wilson';

const scored = (stage: EvaluationStage, successes: number, set = 'train_goals', n = 32) => ({
  ...{ stage, set, successRate: n === 0 ? null : successes / n, interval: wilson(successes, n) },
});

it('is the final one, unless an earlier one of the same goals is better beyond its interval', () => {
  const [before, early, best] = [scored('baseline', 0), scored('periodic', 15), scored('periodic', 20)];
  const collapsed = scored('final', 0);
  expect(bestEvaluation([before, early, best, collapsed])).toBe(best);
  // 20 of 32 are 63 %, 15 of 32 are 47 % [31–64].
  const close = scored('final', 15);
  expect(bestEvaluation([before, early, best, close])).toBe(close);
  const spoilt = scored('final', 2);
  expect(bestEvaluation([scored('baseline', 30), spoilt])).toMatchObject({ stage: 'baseline' });
});

it('is that of the warm start unless what followed is as good', () => {
  const imitated = scored('warm_start', 31);
  expect(bestEvaluation([imitated, scored('final', 30)])).toBe(imitated);
  expect(bestEvaluation([imitated, scored('periodic', 30), scored('final', 31)])?.stage).toBe('final');
});

it('goes by the training goals where they were evaluated', () => {
  const unseen = scored('periodic', 32, 'eval_goals');
  const final = scored('final', 20);
  expect(bestEvaluation([unseen, scored('final', 1, 'eval_goals'), final])).toBe(final);
  expect(bestEvaluation([unseen, scored('final', 1, 'eval_goals')])).toBe(unseen);
});

it('is none before the final one, nor where that has no rate', () => {
  expect(bestEvaluation([scored('periodic', 20)])).toBeUndefined();
  expect(bestEvaluation([scored('periodic', 20), scored('final', 0, 'train_goals', 0)])).toBeUndefined();
});

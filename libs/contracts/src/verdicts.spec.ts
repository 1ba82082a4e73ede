import { addSums, verdictMetrics, verdictSums } from './verdicts';

const episode = (success: boolean | null, judge?: boolean) => ({
  success,
  ...(judge === undefined ? {} : { verdicts: { judge } }),
});

test('a reward that judges is compared with the verifier where both do', () => {
  const episodes = [
    episode(true, true),
    episode(true, true),
    episode(true, false),
    episode(false, true),
    episode(null, true),
    episode(false),
  ];
  expect(verdictMetrics(addSums(episodes.map(verdictSums)))).toEqual({
    'env/all/verdict/judge/success': 4 / 5,
    'env/all/verdict/judge/count': 4,
    'env/all/verdict/judge/agreement': 2 / 4,
    'env/all/verdict/judge/false_positives': 1 / 4,
    'env/all/verdict/judge/false_negatives': 1 / 4,
  });
});

test('where the verifier judges nothing, nothing is said of agreement', () => {
  expect(verdictMetrics(addSums([episode(null, false)].map(verdictSums)))).toEqual({
    'env/all/verdict/judge/success': 0,
    'env/all/verdict/judge/count': 0,
  });
  expect(verdictMetrics(addSums([episode(true)].map(verdictSums)))).toEqual({});
});

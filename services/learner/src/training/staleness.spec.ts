import * as fc from 'fast-check';
import type { PolicySpan, Turn } from '@ui-rl/contracts';
import { groupOf, turnOf } from '../../test/groups';
import {
  assertWithin,
  isTooOld,
  isWithin,
  oldestVersion,
  spanDefect,
  stalenessMetrics,
  versionsOf,
} from './staleness';

/** A turn with this many tokens by each of these policies. */
function turnBy(...spans: [version: number, tokens: number][]): Turn {
  const policySpans = spans.map(([version, tokens]): PolicySpan => ({
    version,
    digest: `d${version}`,
    tokens,
  }));
  const [{ version, digest }] = policySpans;
  const tokens = policySpans.reduce((sum, span) => sum + span.tokens, 0);
  return turnOf(tokens, { policyVersion: version, adapterDigest: digest, policySpans });
}

it('counts tokens by the policy that sampled each of them', () => {
  expect(versionsOf(turnBy([3, 2], [5, 1]))).toEqual([3, 3, 5]);
  expect(versionsOf(turnOf(2, { policyVersion: 7 }))).toEqual([7, 7]);
  expect(isWithin(turnBy([3, 2], [5, 1]), { step: 6, maxStepsOffPolicy: 2 })).toEqual([false, false, true]);
});

it('gives up a group only where each of its tokens is too old', () => {
  const group = groupOf(0, [
    { turns: [turnBy([1, 2]), turnBy([2, 1], [4, 1])] },
    { turns: [turnBy([1, 3])] },
  ]);
  expect(oldestVersion(group)).toBe(1);
  expect(isTooOld(group, { step: 6, maxStepsOffPolicy: 2 })).toBe(false);
  expect(isTooOld(group, { step: 7, maxStepsOffPolicy: 2 })).toBe(true);
  expect(isTooOld(groupOf(1, [{ turns: [] }]), { step: 7, maxStepsOffPolicy: 0 })).toBe(false);
});

it('tells how old tokens are: those that are trained as a histogram, the others as a count', () => {
  const groups = [
    groupOf(0, [{ turns: [turnBy([3, 1], [5, 2])] }]),
    groupOf(1, [{ turns: [turnBy([6, 3])] }, { turns: [turnBy([4, 4])] }]),
  ];
  expect(stalenessMetrics(groups, { step: 6, maxStepsOffPolicy: 2 })).toEqual({
    'sampling_client/step_min': 3,
    'sampling_client/step_max': 6,
    'sampling_client/step_mean': (3 + 10 + 18 + 16) / 10,
    'async/tokens_masked': 1,
    'async/steps_off_policy_max': 2,
    'async/steps_off_policy_mean': (2 + 8) / 9,
    'async/staleness/0': 3 / 9,
    'async/staleness/1': 2 / 9,
    'async/staleness/2': 4 / 9,
  });
});

it('lets no token beyond the bound be trained', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(3), fc.integer({ min: 1, max: 5 })), { minLength: 1, maxLength: 4 }),
      fc.nat(12),
      fc.nat(4),
      (steps, step, maxStepsOffPolicy) => {
        let version = 0;
        const turn = turnBy(...steps.map(([more, tokens]): [number, number] => [(version += more), tokens]));
        const bound = { step, maxStepsOffPolicy };
        const within = isWithin(turn, bound);
        const masked = Float32Array.from(within, Number);
        assertWithin(turn, masked, bound);
        const beyond = within.indexOf(false);
        if (beyond < 0) return;
        masked[beyond] = 0.5;
        expect(() => assertWithin(turn, masked, bound)).toThrow(
          `token ${beyond} of turn 0 is of policy ${versionsOf(turn)[beyond]} and would be trained in step ${step}`,
        );
      },
    ),
  );
});

it.each([
  ['do not add up', { policySpans: [{ version: 1, digest: 'd', tokens: 3 }] }, 'has 2 tokens but spans of 3'],
  ['are none', { policySpans: [] }, 'has 2 tokens but spans of 0'],
  [
    'go back',
    { policySpans: [2, 1].map((version) => ({ version, digest: 'd', tokens: 1 })) },
    'has a span of policy 1 after one of 2',
  ],
  [
    'say otherwise than the turn',
    { policySpans: [1, 2].map((version) => ({ version, digest: 'd', tokens: 1 })), policyVersion: 2 },
    'is said to be of policy 2, but its first span is not',
  ],
])('finds spans wrong that %s', (_, changes, defect) => {
  expect(spanDefect(turnOf(2, { policyVersion: 1, adapterDigest: 'd', ...changes }))).toBe(defect);
});

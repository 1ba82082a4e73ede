import type { SampleResult } from '@ui-rl/plugin-kit';
import { actReply } from './act-reply';

const prompt = { tokenIds: [1, 2], images: [{ sha256: 'a' }], imageTokens: 1 };
const sampled: SampleResult = {
  tokens: [3, 4, 5],
  logprobs: [-1, -2, -3],
  stopReason: 'stop',
  digest: 'new',
};
const versionOf = (digest: string): number => ['old', 'new'].indexOf(digest) + 6;

it('is of the step that was asked for, where weights stay as they are', () => {
  expect(actReply(prompt, sampled, { text: 'yes', policyVersion: 5 })).toEqual({
    ...{ promptTokenIds: [1, 2], promptImages: ['a'], imageTokens: 1, text: 'yes', finishReason: 'stop' },
    ...{ tokenIds: [3, 4, 5], logprobs: [-1, -2, -3], policyVersion: 5, adapterDigest: 'new' },
  });
});

it('is of the step whose weights answered, where they changed before its first token', () => {
  const reply = actReply(prompt, sampled, { text: 'yes', policyVersion: 6, versionOf });
  expect(reply).toMatchObject({ policyVersion: 7, adapterDigest: 'new' });
  expect(reply.policySpans).toBeUndefined();
});

it('says of each token whose it is, where weights changed between them', () => {
  const spans = [
    { version: 30, digest: 'old', tokens: 1 },
    { version: 32, digest: 'new', tokens: 2 },
  ];
  const result = { ...sampled, digest: 'old', spans };
  expect(actReply(prompt, result, { text: 'yes', policyVersion: 6, versionOf })).toMatchObject({
    ...{ policyVersion: 6, adapterDigest: 'old' },
    policySpans: [
      { version: 6, digest: 'old', tokens: 1 },
      { version: 7, digest: 'new', tokens: 2 },
    ],
  });
});

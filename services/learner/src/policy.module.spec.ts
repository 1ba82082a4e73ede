import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PolicyInfoReply, subjects } from '@ui-rl/contracts';
import { FIXTURE, LearnerWorld, valueOf } from '../test/learner-world';

let world: LearnerWorld;

beforeAll(async () => {
  world = await LearnerWorld.open();
});
afterEach(() => world.quit());
afterAll(() => world.close());

it('knows a screenshot by its hash once it was sent or stored', async () => {
  const runId = await world.startRun();
  const sent = valueOf(await world.act(runId, 'a/0'));
  const [sha256] = sent.promptImages;
  expect(valueOf(await world.act(runId, 'a/0', { images: [sha256] }))).toEqual(sent);
  const other = readFileSync(join(FIXTURE, 'images/1.png'));
  const hash = createHash('sha256').update(other).digest('hex');
  expect(await world.act(runId, 'b/0', { images: [hash] })).toMatchObject({
    ok: false,
    error: { code: 'unknown_image', message: expect.stringContaining(hash) },
  });
  await world.bus.blobs.of(runId).put(other, hash);
  expect(valueOf(await world.act(runId, 'b/0', { images: [hash] })).promptImages).toEqual([hash]);
});

it('serves the policy: tokens, log-probabilities and what was read; the same request gets the same answer', async () => {
  const runId = await world.startRun();
  const first = valueOf(await world.act(runId, 'a/0'));
  expect(first.policyVersion).toBe(0);
  expect(first.tokenIds.length).toBeGreaterThan(0);
  expect(first.logprobs).toHaveLength(first.tokenIds.length);
  expect(first.promptImages).toHaveLength(1);
  expect(first.promptTokenIds.filter((id) => id === 298)).toHaveLength(first.imageTokens);
  expect(valueOf(await world.act(runId, 'a/0'))).toEqual(first);
  const named = valueOf(await world.act(runId, 'b/0', { policy: `uirl://${runId}/sampler_weights/000000` }));
  expect(named.adapterDigest).toBe(first.adapterDigest);
  expect(await world.act(runId, 'c/0', { policy: `uirl://${runId}/sampler_weights/000009` })).toMatchObject({
    ok: false,
    error: { code: 'unknown_policy', message: expect.stringContaining('object store, which has 000000') },
  });
  expect(await world.act(runId, 'd/0', { images: [] })).toMatchObject({
    ok: false,
    error: { code: 'bad_request' },
  });
  expect(await world.act(runId, 'e/0', { images: [new Uint8Array(9)] })).toMatchObject({
    ok: false,
    error: { code: 'bad_request' },
  });
  const content = [{ type: 'text', text: 'word '.repeat(500) }];
  expect(await world.act(runId, 'f/0', { messages: [{ role: 'user', content }], images: [] })).toMatchObject({
    ok: false,
    error: { code: 'prompt_too_long', message: expect.stringMatching(/in a sequence of 128 /) },
  });
  const info = await world.bus.request<PolicyInfoReply>(subjects.policyInfo(runId), { runId }, 5000);
  expect(valueOf(info)).toMatchObject({ runId, step: 0, adapterDigest: first.adapterDigest });
  const modelImageOf = (width: number, height: number) =>
    world.bus.request(
      subjects.policyInfo(runId),
      { runId, screenshot: { width, height } },
      5000,
      PolicyInfoReply,
    );
  const prompt = {
    messages: [{ role: 'user', content: [{ type: 'image', image: 0 }] }],
    images: [] as unknown[],
  };
  const countOf = (images: unknown[]) =>
    world.bus.request(
      subjects.policyInfo(runId),
      { runId, prompt: { ...prompt, images } },
      5000,
      PolicyInfoReply,
    );
  const { promptTokens } = valueOf(await countOf(first.promptImages));
  const shown = await world.act(runId, 'g/0', { ...prompt, images: first.promptImages });
  expect(promptTokens).toBe(valueOf(shown).promptTokenIds.length);
  expect(await countOf([])).toMatchObject({ ok: false, error: { code: 'bad_request' } });
  // The model reads patches of 8 × 8 pixels, 2 × 2 of them per token.
  expect(valueOf(await modelImageOf(60, 45)).modelImage).toEqual({ width: 64, height: 48 });
  expect(await modelImageOf(1, 3000)).toMatchObject({ ok: false, error: { code: 'bad_request' } });
});

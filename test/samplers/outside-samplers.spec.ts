import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { loadPromptFolder, makeRenderer, promptChunks, type ChatMessage, type Renderer } from '@ui-rl/models';
import {
  loadComponents,
  type ComponentRegistry,
  type Engine,
  type Sampler,
  type SamplerRequest,
} from '@ui-rl/plugin-kit';
import { eventually } from '@ui-rl/testkit';
import { adapter, fixtures, TestModel, train } from '../../libs/engine/test/test-model';
import { conversationOf } from '../../services/learner/src/policy/conversation';
import { probesOf } from '../../services/learner/src/policy/probes';
import { hashOf, OutsideServer } from './outside-server';

const FIXTURE = 'qwen3-vl-a';
const [screen, second] = ['0.png', '1.png'].map((file) =>
  readFileSync(join(fixtures, FIXTURE, 'images', file)),
);

let components: ComponentRegistry;
let model: TestModel;
let engine: Engine;
let renderer: Renderer;
let dir: string;
let imageTokenId: number;
const images = new Map<string, Buffer>();
const fetchImage = (sha256: string): Promise<Buffer | null> => Promise.resolve(images.get(sha256) ?? null);

beforeAll(async () => {
  components = await loadComponents();
  model = await TestModel.of(FIXTURE);
  imageTokenId = model.folder.family.shape.imageTokenId;
  renderer = makeRenderer(await loadPromptFolder(model.folder.dir));
  engine = await model.start({ models: [adapter()], deterministic: true, fetchImage, maxSequence: 400 });
  for (const png of [screen, second]) images.set(hashOf(png), png);
});
afterAll(() => model.stop());

let servers: OutsideServer[];
let sampler: Sampler | undefined;
let logged: string[];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'adapters-'));
  servers = [];
  logged = [];
});
afterEach(async () => {
  await sampler?.stop();
  sampler = undefined;
  for (const server of servers) await server.stop();
  await rm(dir, { recursive: true, force: true });
});

async function startServers(count: number, resolverDir?: string): Promise<OutsideServer[]> {
  const keepImage = (png: Buffer): string => {
    images.set(hashOf(png), png);
    return hashOf(png);
  };
  const parts = {
    engine,
    renderer,
    imageTokenId,
    keepImage,
    resolverDir,
  };
  for (let index = 0; index < count; index += 1) servers.push(await new OutsideServer(parts).start());
  return servers;
}

async function startSampler(name: string, options: object = {}, trainer = engine): Promise<Sampler> {
  const choice = { name, servers: servers.map(({ address }) => address), ...options };
  sampler = await components.create('sampler', choice, {
    ...{ engine: trainer, runId: 'run-1', sharedDir: dir, imageTokenId, fetchImage },
    probes: () => probesOf(renderer),
    apiKeyOf: () => undefined,
    log: (level, message) => logged.push(`${level}: ${message}`),
  });
  return sampler;
}

let step = 0;

/** Trains briefly, and publishes the resulting weights. */
async function publishNext(): Promise<string> {
  step += 1;
  await train(engine, model.lessons());
  const weights = `step-${String(step).padStart(6, '0')}`;
  await engine.saveWeightsForSampler({ model: 'policy', name: weights });
  await sampler!.publish(weights);
  return weights;
}

async function requestOf(
  weights: string,
  changes: Partial<SamplerRequest> = {},
  png?: Buffer,
): Promise<SamplerRequest> {
  const text = { type: 'text' as const, text: 'Open Settings' };
  const messages: ChatMessage[] = [
    { role: 'user', content: png === undefined ? [text] : [{ type: 'image', image: 0 }, text] },
  ];
  const pngs = png === undefined ? [] : [png];
  const prompt = await renderer.renderPngs(messages, pngs);
  return {
    ...{ model: weights, maxTokens: 5, temperature: 1, topP: 1, seed: 3 },
    prompt: { chunks: promptChunks(prompt.tokenIds, prompt.images, imageTokenId) },
    conversation: conversationOf(renderer, { messages, images: pngs }, prompt),
    ...changes,
  };
}

it('scores the probes once more where the engine has failed to', async () => {
  await startServers(1);
  let failures = 1;
  const trainer: Engine = Object.create(engine, {
    forward: {
      value: (request: Parameters<Engine['forward']>[0]) =>
        request.model === 'base' && failures-- > 0
          ? Promise.reject(new Error('out of memory'))
          : engine.forward(request),
    },
  }) as Engine;
  await startSampler('vllm', {}, trainer);
  await expect(publishNext()).rejects.toThrow('out of memory');
  const weights = await publishNext();
  expect(await sampler!.sample(await requestOf(weights))).toMatchObject({ stopReason: expect.any(String) });
});

describe.each(['vllm', 'sglang'])('%s', (name) => {
  it('samples what the engine would, each version under its own name', async () => {
    const [server] = await startServers(1);
    await startSampler(name);
    const first = await publishNext();
    const names = new Set(server.loaded);
    for (const png of [undefined, screen]) {
      const request = await requestOf(first, {}, png);
      const { conversation: _unused, ...asked } = request;
      const expected = await engine.sample(asked);
      const sampled = await sampler!.sample(request);
      expect(sampled).toMatchObject({
        tokens: expected.tokens,
        digest: expected.digest,
        stopReason: expected.stopReason,
      });
      sampled.logprobs.forEach((value, place) => expect(value).toBeCloseTo(expected.logprobs[place], 4));
    }
    await engine.saveWeightsForSampler({ model: 'base', name: 'base#published' });
    await sampler!.publish('base#published');
    const ofBase = await requestOf('base#published');
    const { tokens, digest } = await engine.sample({ ...ofBase, model: 'base' });
    expect(await sampler!.sample(ofBase)).toMatchObject({ tokens, digest });
    await sampler!.retire('base#published');
    const second = await publishNext();
    for (const each of server.loaded) names.add(each);
    expect([...names]).toEqual([
      expect.stringMatching(/^uirl-run-1-\d{6}-[0-9a-f]{8}$/),
      expect.stringMatching(/^uirl-run-1-\d{6}-[0-9a-f]{8}$/),
    ]);
    const [old] = names;
    expect(readdirSync(join(dir, old))).toEqual(['adapter_config.json', 'adapter_model.safetensors']);
    await sampler!.retire(first);
    await eventually(
      'the old adapter to be gone',
      () => !server.loaded.includes(old) && !existsSync(join(dir, old)),
    );
    await expect(sampler!.sample(await requestOf(first))).rejects.toThrow('no published weights');
    expect((await sampler!.sample(await requestOf(second))).tokens.length).toBeGreaterThan(0);
    await sampler!.stop();
    expect(server.loaded).toEqual([]);
    expect(readdirSync(dir)).toEqual([]);
  });

  it('names the episode in the header that a router goes by', async () => {
    const [server] = await startServers(1);
    await startSampler(name, { routing_header: 'X-Session-ID' });
    const weights = await publishNext();
    for (const changes of [{ episode: 'run-1-g0-r1' }, {}])
      await sampler!.sample(await requestOf(weights, changes));
    expect(server.answersWith('x-session-id')).toEqual(['run-1-g0-r1', undefined]);
    await expect(startSampler(name, { routing_header: 'Content-Type' })).rejects.toThrow(/routing_header/);
  });

  it('fails to publish an adapter that is loaded and does nothing, and one that an older one stands for', async () => {
    const [server] = await startServers(1);
    await startSampler(name);
    server.faults = { ignoresAdapters: true };
    await expect(publishNext()).rejects.toThrow(
      /does not sample uirl-run-1-.*those of the base model.*does nothing/,
    );
    server.faults = {};
    await publishNext();
    const [loaded] = server.loaded;
    server.faults = { servesFirst: true };
    await expect(publishNext()).rejects.toThrow(
      new RegExp(`those of ${loaded}.*an older adapter is sampled`),
    );
    server.faults = { refusesAdapters: true };
    await expect(publishNext()).rejects.toThrow(/did not load the adapter.*max_lora_rank 2/);
    expect(server.loaded).toEqual([loaded]);
    expect(readdirSync(dir)).toEqual([loaded]);
  });

  it('refuses answers to another prompt, without log-probabilities, and those before the temperature', async () => {
    const [server] = await startServers(1);
    await startSampler(name);
    const weights = await publishNext();
    const request = await requestOf(weights, { temperature: 0.5, maxTokens: 8 }, screen);
    server.faults = { otherPrompt: true };
    await expect(sampler!.sample(request)).rejects.toMatchObject({
      category: 'request',
      message: expect.stringMatching(/read another prompt: token 2 is 7, expected \d+ \(.*found …/) as string,
    });
    server.faults = { noLogprobs: true };
    await expect(sampler!.sample(request)).rejects.toThrow(/logprobs is (null|undefined|nothing), expected/);
    server.faults = { rawLogprobs: true };
    await expect(sampler!.sample(request)).rejects.toThrow(/those before temperature 0.5/);
    server.faults = {};
    expect((await sampler!.sample(request)).tokens.length).toBeGreaterThan(0);
  });

  it('finds by the first answer that images do not reach the model', async () => {
    const [server] = await startServers(1);
    await startSampler(name, { probe_tolerance: 1e-3 });
    const weights = await publishNext();
    const other = await sharp(screen).negate({ alpha: false }).png().toBuffer();
    images.set(hashOf(other), other);
    server.faults = { otherImage: hashOf(other) };
    await expect(sampler!.sample(await requestOf(weights, {}, screen))).rejects.toThrow(
      /images, or the adapter/,
    );
  });
});

it('vLLM finds adapters by the name of their folder', async () => {
  const [server] = await startServers(1, dir);
  await startSampler('vllm', { load_by: 'resolver', adapters_path: '/nowhere' });
  const weights = await publishNext();
  await sampler!.sample(await requestOf(weights));
  expect(server.calls.map(({ path }) => path)).not.toContain('/v1/load_lora_adapter');
  expect(server.loaded).toHaveLength(1);
});

describe('several servers', () => {
  it('share the work, an episode stays on one, and another answers where one fails', async () => {
    const [one, two] = await startServers(2);
    await startSampler('vllm');
    const weights = await publishNext();
    const answers = (): number[] => servers.map((server) => server.answersOf('/v1/completions').length);
    for (const episode of ['a', 'b', 'a', 'b', 'a'])
      await sampler!.sample(await requestOf(weights, { episode }));
    expect(answers().toSorted((a, b) => a - b)).toEqual([2, 3]);
    const home = answers()[0] === 3 ? one : two;
    home.faults = { failing: 1 };
    const before = answers();
    const request = await requestOf(weights, { episode: 'a' });
    expect((await sampler!.sample(request)).tokens).toEqual((await engine.sample(request)).tokens);
    expect(answers()).toEqual(before.map((count) => count + 1));
  });

  it('a server that is slow is cut off, and gives no second answer', async () => {
    const [one, two] = await startServers(2);
    await startSampler('vllm', { request_timeout_ms: 3000 });
    const weights = await publishNext();
    one.faults = two.faults = {};
    const request = await requestOf(weights, { episode: 'a' });
    await sampler!.sample(request);
    const [home, away] = one.answersOf('/v1/completions').length === 1 ? [one, two] : [two, one];
    home.faults = { slowMs: 4000 };
    const answer = await sampler!.sample(request);
    expect(answer.tokens).toEqual((await engine.sample(request)).tokens);
    expect(away.answersOf('/v1/completions')).toHaveLength(1);
    expect(home.aborted).toBe(1);
    expect(logged.join('\n')).toMatch(/warn: .*gave no answer within 3 s; other servers are asked/);
  });

  it('one that dies is left out, and asked again once it has proven itself', async () => {
    const [one, two] = await startServers(2);
    await startSampler('vllm', { recheck_ms: 100 });
    const weights = await publishNext();
    await one.stop();
    for (let index = 0; index < 3; index += 1) await sampler!.sample(await requestOf(weights));
    expect(two.answersOf('/v1/completions').length).toBeGreaterThanOrEqual(2);
    await one.start();
    await eventually('the server to be back', () =>
      logged.some((line) => line.includes(`${one.address} is asked again`)),
    );
    expect(one.loaded).toEqual(two.loaded);
    await two.stop();
    expect((await sampler!.sample(await requestOf(weights))).tokens.length).toBeGreaterThan(0);
    await one.stop();
    await expect(sampler!.sample(await requestOf(weights))).rejects.toThrow(
      /no server can sample uirl-run-1/,
    );
    await expect(publishNext()).rejects.toThrow(/no server can sample .*ECONNREFUSED/);
  });
});

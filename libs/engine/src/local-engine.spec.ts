import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ComponentRegistry, type Engine } from '@ui-rl/plugin-kit';
import { adapter, crossEntropy, scores, step, scratchFolder, TestModel, train } from '../test/test-model';
import { components } from './index';

let model: TestModel;
const scratch = scratchFolder('local-engine');
beforeAll(async () => (model = await TestModel.of('qwen3-vl-a')));
afterEach(() => model.stop());

/** Images that arrive when the test releases them. */
class SlowImages {
  private let: () => void = () => undefined;
  private gate: Promise<void> = Promise.resolve();
  /** Number of pending images. */
  waiting = 0;

  hold(): void {
    this.gate = new Promise((resolve) => (this.let = resolve));
  }

  release(): void {
    this.let();
  }

  readonly fetchImage = async (sha256: string): Promise<Buffer | null> => {
    this.waiting += 1;
    await this.gate;
    this.waiting -= 1;
    return model.fetchImage(sha256);
  };
}

describe('the order of verbs', () => {
  it('is that of their calls, though the images of one take longer than another has to wait for', async () => {
    const data = model.lessons();
    const [plain, slow] = [await model.start(), new SlowImages()];
    const expected = await train(plain, data.slice(0, 2));
    const engine = await model.start({ fetchImage: slow.fetchImage });
    slow.hold();
    const added = engine.forwardBackward({ model: 'policy', data: data.slice(0, 2), loss: crossEntropy });
    // Needs no image.
    const stepped = step(engine);
    const [scored] = [scores(engine, data.slice(0, 1))];
    slow.release();
    await added;
    const { metrics, weights } = await stepped;
    expect({ gradNorm: metrics.grad_norm, ...weights }).toMatchObject({
      gradNorm: expected.gradNorm,
      digest: expected.digest,
    });
    expect(await scored).toEqual(await scores(plain, data.slice(0, 1)));
  });

  it('lets a sample end whose images are being prepared while its weights are released', async () => {
    const slow = new SlowImages();
    const engine = await model.start({ fetchImage: slow.fetchImage, models: [adapter()] });
    const { digest } = await engine.saveWeightsForSampler({ model: 'policy', name: 'begin' });
    await train(engine, [model.datum(model.prompt(0, 0), [20, 30])]);
    slow.hold();
    const request = { ...model.request(model.prompt(1)), model: 'begin' };
    const sampled = engine.sample(request);
    expect(slow.waiting).toBe(1);
    const released = engine.releaseWeights('begin');
    slow.release();
    expect((await sampled).digest).toBe(digest);
    expect((await sampled).tokens.length).toBeGreaterThan(0);
    await released;
    await expect(engine.sample(request)).rejects.toThrow('no model "begin"');
  });

  it('lets weights be released where the images of a sample never come', async () => {
    const engine = await model.start({ fetchImage: () => Promise.reject(new Error('out of reach')) });
    await engine.saveWeightsForSampler({ model: 'policy', name: 'begin' });
    const sampled = engine.sample({ ...model.request(model.prompt(1)), model: 'begin' });
    const released = engine.releaseWeights('begin');
    await expect(sampled).rejects.toThrow('out of reach');
    await released;
    expect((await engine.info()).models).toEqual(['policy', 'base']);
  });

  it('does not let a state wait for samples: those get the weights there are when their images come', async () => {
    const slow = new SlowImages();
    const engine = await model.start({ fetchImage: slow.fetchImage, deterministic: true });
    const dir = join(scratch, 'begin');
    const begin = await engine.saveState({ model: 'policy', dir });
    const trained = await train(engine, [model.datum(model.prompt(0, 0), [20, 30])]);
    expect(trained.digest).not.toBe(begin.digest);
    slow.hold();
    const request = model.request(model.prompt(1));
    const sampled = engine.sample(request);
    expect(await engine.loadState({ model: 'policy', dir, optimizer: true })).toEqual(begin);
    expect(slow.waiting).toBe(1);
    slow.release();
    expect((await sampled).digest).toBe(begin.digest);
    expect(await engine.sample(request)).toEqual(await sampled);
  });
});

describe('the end', () => {
  it('rejects what is being sampled, and all calls after it', async () => {
    const engine = await model.start();
    const long = engine.sample(model.request(model.prompt(0), { maxTokens: 150 }));
    await untilSampling(engine);
    const [sampled] = await Promise.all([long.catch((error: Error) => error), engine.stop()]);
    expect(sampled).toMatchObject({ category: 'worker', message: 'the engine was stopped' });
    await expect(engine.info()).rejects.toThrow('the engine was stopped');
    expect((await engine.ended).message).toBe('the engine was stopped');
  });

  it('at once of an engine over a folder that is missing names it', async () => {
    await expect(model.start({ modelDir: '/nowhere' })).rejects.toThrow('/nowhere');
  });

  async function untilSampling(engine: Engine): Promise<void> {
    while ((await engine.info()).rowsActive !== 1);
  }
});

it('is what a run file chooses as engine local, and the sampler engine samples from it', async () => {
  const registry = new ComponentRegistry(
    components.map((component) => ({ component, file: '@ui-rl/engine' })),
  );
  const log: string[] = [];
  const choice = {
    name: 'local',
    device: 'cpu',
    threads: 2,
    gradient_checkpointing: 'on',
    quantization: 'int8',
  };
  const engine = await registry.create('engine', choice, {
    modelDir: model.folder.dir,
    cacheDir: scratch,
    models: [adapter()],
    maxRows: 2,
    maxSequence: 160,
    deterministic: false,
    seed: 1,
    endTokenIds: [],
    componentFiles: [],
    environment: {},
    fetchImage: model.fetchImage,
    log: (_level, line) => log.push(line),
    onProgress: () => undefined,
  });
  try {
    expect(log).toEqual(['the model runs on cpu: as asked for']);
    const info = await engine.info();
    expect(info).toMatchObject({
      name: 'local',
      device: 'cpu',
      deviceReason: 'as asked for',
      models: ['policy', 'base'],
    });
    expect(readdirSync(join(scratch, 'quantized'))).toHaveLength(1);
    expect(info.trainedParameters).toBeGreaterThan(1000);
    const sampler = await registry.create(
      'sampler',
      { name: 'engine' },
      {
        engine,
        runId: 'run',
        sharedDir: '',
        imageTokenId: model.folder.family.shape.imageTokenId,
        probes: () => [],
        fetchImage: () => Promise.resolve(null),
        apiKeyOf: () => undefined,
        log: () => undefined,
      },
    );
    await engine.saveWeightsForSampler({ model: 'policy', name: 'step-1' });
    await sampler.publish('step-1');
    const request = { ...model.request(model.prompt(0), { maxTokens: 2 }), model: 'step-1' };
    expect((await sampler.sample(request)).tokens).toHaveLength(2);
    await sampler.retire('step-1');
    await expect(sampler.sample(request)).rejects.toThrow('no model "step-1"');
    await sampler.stop();
  } finally {
    await engine.stop();
  }
});

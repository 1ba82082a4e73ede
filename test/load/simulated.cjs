// Replaces browsers and the model in a fleet under load: only waits as long as they would take.
const { createHash, randomBytes } = require('node:crypto');
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { crc32, deflateSync } = require('node:zlib');

const WIDTH = 160;
const HEIGHT = 224;
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const WEIGHTS_FILE = 'simulated.json';
/** The size of a small adapter. */
const ADAPTER_BYTES = 65_536;
const LOGPROB = -0.5;

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}

/**
 * Screenshots of one size in bytes, each with different metadata text, so that every one is stored as a separate
 * image.
 */
function screenshots(bytes) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(WIDTH, 0);
  header.writeUInt32BE(HEIGHT, 4);
  header.set([8, 0, 0, 0, 0], 8);
  const end = chunk('IEND', Buffer.alloc(0));
  // Noise is incompressible: the number of noisy rows determines the file size.
  const noisy = Math.min(HEIGHT, Math.max(0, Math.round((bytes - 300) / WIDTH)));
  const rows = Buffer.alloc((WIDTH + 1) * HEIGHT);
  const noise = randomBytes(WIDTH * noisy);
  for (let row = 0; row < noisy; row += 1)
    noise.copy(rows, row * (WIDTH + 1) + 1, row * WIDTH, (row + 1) * WIDTH);
  const pixels = Buffer.concat([SIGNATURE, chunk('IHDR', header), chunk('IDAT', deflateSync(rows))]);
  return () => {
    const text = Buffer.concat([
      Buffer.from('Comment\0', 'latin1'),
      Buffer.from(randomBytes(16).toString('hex')),
    ]);
    const png = new Uint8Array(Buffer.concat([pixels, chunk('tEXt', text), end]));
    return { png, sha256: createHash('sha256').update(png).digest('hex'), width: WIDTH, height: HEIGHT };
  };
}

/** Random duration of 0.5 to 1.5 times `ms`, so that episodes do not synchronize. */
const about = (ms) => ms * (0.5 + Math.random());

const environment = {
  kind: 'environment',
  name: 'simulated',
  description: 'Screens that mean nothing, after as long as a real environment takes.',
  options: {
    open_ms: {
      type: 'number',
      description: 'how long opening takes, half as long to one and a half times',
      default: 300,
    },
    step_ms: { type: 'number', description: 'how long each action takes', default: 100 },
    close_ms: { type: 'number', description: 'how long the last state takes', default: 50 },
    turns: { type: 'integer', description: 'the episode ends after so many actions', default: 5 },
    screenshot_bytes: { type: 'integer', description: 'size of a screenshot, about', default: 20_000 },
  },
  create: async ({ open_ms, step_ms, close_ms, turns, screenshot_bytes }) => {
    const shoot = screenshots(screenshot_bytes);
    const session = () => {
      let taken = 0;
      return {
        screenshot: shoot(),
        state: { score: 0 },
        step: async () => {
          await sleep(step_ms);
          taken += 1;
          return { ok: true, value: { screenshot: shoot(), outcome: 'ok', done: taken >= turns } };
        },
        close: async () => {
          await sleep(close_ms);
          return { ok: true, value: { score: Math.random() < 0.5 ? 1 : 0 } };
        },
        discard: async () => undefined,
      };
    };
    return {
      open: async () => {
        await sleep(about(open_ms));
        return { ok: true, value: session() };
      },
      close: async () => undefined,
    };
  },
};

const source = {
  kind: 'task-source',
  name: 'simulated',
  description: 'Tasks of the simulated environment.',
  options: { count: { type: 'integer', description: 'how many', default: 16 } },
  create: ({ count }) => ({
    load: () =>
      Array.from({ length: count }, (_, index) => ({
        id: `simulated_${index}`,
        description: 'Open Settings',
        source: 'simulated',
        category: 'navigation',
        difficulty: 'easy',
        maxSteps: 100,
        environment: { kind: 'simulated', options: {} },
        checks: [{ path: 'score', operator: 'equals', value: 1 }],
      })),
  }),
};

class SimulatedEngine {
  constructor({ answer_ms, train_ms, answer }) {
    this.answerMs = answer_ms;
    this.trainMs = train_ms;
    this.answer = answer;
    this.version = 0;
    this.published = new Map();
    this.ended = new Promise((resolve) => (this.end = resolve));
  }

  get weights() {
    const digest = createHash('sha256').update(`simulated ${this.version}`).digest('hex');
    return { version: this.version, digest };
  }

  async sample({ model, signal }) {
    await sleep(this.answerMs, undefined, { signal });
    const { digest } = this.published.get(model) ?? this.weights;
    return { tokens: [...this.answer], logprobs: this.answer.map(() => LOGPROB), stopReason: 'stop', digest };
  }

  async forward({ data }) {
    return {
      logprobs: data.map(({ weights }) => Float32Array.from(weights, (each) => (each === 0 ? NaN : LOGPROB))),
    };
  }

  async forwardBackward({ data }) {
    await sleep(this.trainMs);
    const tokens = data.reduce((sum, { weights }) => sum + weights.filter((each) => each !== 0).length, 0);
    return { ...(await this.forward({ data })), metrics: { loss: 0, entropy: 1, tokens, passes: 1 } };
  }

  async optimStep() {
    this.version += 1;
    return { metrics: { grad_norm: 1 }, weights: this.weights };
  }

  async saveState({ dir, files = {} }) {
    const staging = `${dir}.part`;
    mkdirSync(staging, { recursive: true });
    writeFileSync(join(staging, WEIGHTS_FILE), JSON.stringify({ version: this.version }));
    writeFileSync(join(staging, 'adapter.bin'), randomBytes(ADAPTER_BYTES));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(staging, name), text);
    renameSync(staging, dir);
    return this.weights;
  }

  async loadState({ dir }) {
    this.version = JSON.parse(readFileSync(join(dir, WEIGHTS_FILE), 'utf8')).version;
    return this.weights;
  }

  async saveWeightsForSampler({ name }) {
    this.published.set(name, this.weights);
    return this.weights;
  }

  async exportWeights() {
    throw new Error('simulated weights cannot be exported: there are none');
  }

  async releaseWeights(name) {
    this.published.delete(name);
  }

  async discardGradients() {}

  async info() {
    const models = ['policy', 'base', ...this.published.keys()];
    return { name: 'simulated', device: 'none', trainedParameters: 1, models, maxSequence: 4096 };
  }

  async stop() {
    this.end(new Error('the engine was stopped'));
  }
}

const engine = {
  kind: 'engine',
  name: 'simulated',
  description: 'Answers the same tokens each time, and trains nothing, after as long as a real engine takes.',
  options: {
    answer_ms: {
      type: 'number',
      description: 'how long each answer takes, however many are asked for',
      default: 2_000,
    },
    train_ms: { type: 'number', description: 'how long a batch is trained', default: 1_000 },
    answer: { type: 'list', of: 'integer', description: 'tokens of every answer', required: true },
  },
  create: async (options) => new SimulatedEngine(options),
};

module.exports.components = [environment, source, engine];

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { evaluate, runTask, type Policy } from '@ui-rl/api';
import { sha256 } from '@ui-rl/bus';
import { eventually, freePort } from '@ui-rl/testkit';
import { examples, fileName, root } from './examples';

let folder: string;

/** A user's project with the package installed. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-scripts-'));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(root, join(folder, 'node_modules/ui-rl'));
  symlinkSync(join(root, 'node_modules/openai'), join(folder, 'node_modules/openai'));
  copyFileSync(join(root, 'test/golden/fixtures/qwen3-vl-a/images/0.png'), join(folder, 'screen.png'));
  for (const example of examples('js')) writeFileSync(join(folder, fileName(example)), example.text);
});
afterAll(() => rmSync(folder, { recursive: true }));

const { NATS_URL: _, ...environment } = process.env;

function run(file: string, ...args: string[]): string {
  const { stdout, stderr, status } = spawnSync(process.execPath, [file, ...args], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 280_000,
    env: { ...environment, UIRL_RUNS_DIR: join(folder, 'runs') },
  });
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  return stdout;
}

const WORLD_SERVER = 'world-server.js';
const CLICKER = 'clicker.js';
const AGENT = 'agent.js';

/** The output of each script that ends by itself. */
const SCRIPTS: Record<string, { args?: string[]; prints: RegExp }> = {
  'train.js': { prints: /^step 1 [\d.]+\n\{\s+success_rate: [^]*n: 2[^]*\} uirl:\/\/run-\S+\/000001\n$/ },
  'predict.js': {
    args: ['screen.png'],
    // The answer, and the same action as an object.
    prints: /^\{"action":"(\w+)",.*\} \[ \{ action: '\1'/,
  },
  'play.js': {
    prints: /\n(completed|truncated) (true|false) \{ 'task-success': [01] \}\n[^]*\n[0-3] of 3\n$/,
  },
};

it('every script of the guides is among them', () => {
  const scripts = examples('js').filter(({ text }) => !text.includes('module.exports'));
  expect(scripts.map(fileName).toSorted()).toEqual(
    [...Object.keys(SCRIPTS), WORLD_SERVER, CLICKER, AGENT].toSorted(),
  );
});

it.each(Object.entries(SCRIPTS))(
  '%s does what the guide says',
  (file, { args = [], prints }) => {
    expect(run(file, ...args)).toMatch(prints);
    if (file === 'play.js') expect(existsSync(join(folder, 'last.png'))).toBe(true);
  },
  300_000,
);

/** Clicks in every turn. */
const clicking: Policy = {
  modelImage: async (size) => size,
  act: async ({ images }) => ({
    promptTokenIds: [1],
    promptImages: images.map((png) => sha256(png as Uint8Array)),
    imageTokens: 1,
    tokenIds: [2],
    logprobs: [0],
    text: '{"action":"click","x":80,"y":112}',
    finishReason: 'stop',
    policyVersion: 0,
    adapterDigest: '',
  }),
};

it(`${WORLD_SERVER} is the world that the environment of its guide plays in`, async () => {
  const port = String(await freePort());
  const write = (name: string, all: readonly { text: string }[]) => {
    const text = all
      .map((example) => example.text)
      .find((each) => each.includes(':9000') || each.includes('(9000'));
    writeFileSync(join(folder, name), text!.replace('9000', port));
    return join(folder, name);
  };
  const server = spawn(process.execPath, [write(WORLD_SERVER, examples('js'))], { stdio: 'ignore' });
  try {
    const task = {
      description: 'Click twice',
      maxSteps: 4,
      environment: { kind: 'http-world', options: {} },
      checks: [{ path: 'count', operator: 'at_least' as const, value: 2 }],
    };
    const runFile = write('world-run.yaml', examples('yaml'));
    const episode = await runTask(task, { policy: clicking, runFile, seed: 1 });
    expect(episode).toMatchObject({ status: 'truncated', success: true, reward: 1 });
    expect(episode.turns.map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'ok', 'ok']);
    expect(episode).toMatchObject({ initialState: { count: 1 }, finalState: { count: 5 } });
  } finally {
    server.kill();
  }
}, 60_000);

it(`${CLICKER} is evaluated as an endpoint`, async () => {
  const port = String(await freePort());
  const server = spawn(process.execPath, [join(folder, CLICKER), port], { stdio: 'ignore' });
  try {
    const address = `http://127.0.0.1:${port}/v1`;
    await eventually('the endpoint', async () => (await fetch(address)).ok);
    const { checkpoints } = await evaluate({
      checkpoints: [`${address}#anywhere`],
      tasks: '{"source_type":"demo_eval","limit":1}',
      flags: ['--evaluation.episodes_per_task', '1', '--rollout.max_turns', '2'],
      records: 'none',
    });
    expect(checkpoints).toMatchObject([{ label: 'anywhere', invalid: 0, score: { n: 1 } }]);
  } finally {
    server.kill();
  }
}, 60_000);

it(`${AGENT} plays the episodes of its guide's run`, async () => {
  const port = String(await freePort());
  const runFile = examples('yaml').find(({ text }) => text.includes('played_by: agents'));
  writeFileSync(join(folder, 'agents-run.yaml'), runFile!.text);
  const agent = spawn(process.execPath, [AGENT, `http://127.0.0.1:${port}`], { cwd: folder });
  try {
    let told = '';
    agent.stdout.on('data', (text) => (told += text));
    const smallest = {
      tasks: '{"source_type":"demo_training","limit":1}',
      ...{ 'rollout.group_size': 2, 'training.groups_per_batch': 1, 'training.max_steps': 1 },
      'evaluation.baseline': false,
      'evaluation.episodes_per_task': 1,
      'evaluation.sets': '["train_goals"]',
    };
    const flags = Object.entries(smallest).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const run = spawn(
      process.execPath,
      [join(root, 'services/cli/bin/ui-rl.mjs'), 'quickstart', '--config', 'agents-run.yaml', ...flags],
      { cwd: folder, env: { ...environment, AGENTS_PORT: port }, stdio: 'ignore' },
    );
    const [code] = await once(run, 'exit');
    expect(code).toBe(0);
    // Two training goals, one evaluation goal.
    expect(told.match(/^(reached|missed): /gm)?.length).toBeGreaterThanOrEqual(3);
  } finally {
    agent.kill();
  }
}, 120_000);

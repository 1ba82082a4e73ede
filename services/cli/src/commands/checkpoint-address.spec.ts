import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import type { Answer, Scores } from '@ui-rl/api';
import { BusService } from '@ui-rl/bus';
import { freePort, startNats, type NatsServer } from '@ui-rl/testkit';
import { exportCommand } from './export';
import { generateCommand } from './generate';
import { scoreCommand } from './score';

Logger.overrideLogger(false);

const golden = join(__dirname, '../../../../test/golden/fixtures/qwen3-vl-a');
const address = 'uirl://run/sampler_weights/000007';
const before = process.env;
const commands = { score: scoreCommand, generate: generateCommand, export: exportCommand };

let nats: NatsServer;
let bus: BusService;
let dir: string;
let input: string;
let expected: number[];

beforeAll(async () => {
  nats = await startNats();
  bus = await BusService.connect({ service: 'test', servers: [nats.url] });
  dir = mkdtempSync(join(tmpdir(), 'ui-rl-address-'));
  const reference = JSON.parse(readFileSync(join(golden, 'expected.json'), 'utf8')) as {
    messages: { role: string; content: { type: string }[] }[];
    images: { file: string }[];
    response: string;
    lora: { logprobs: number[] };
  };
  expected = reference.lora.logprobs;
  let next = 0;
  const messages: unknown[] = reference.messages.map(({ role, content }) => ({
    role,
    content: content.map((part) =>
      part.type === 'image' ? { ...part, path: join(golden, reference.images[next++].file) } : part,
    ),
  }));
  input = join(dir, 'asked.json');
  writeFileSync(input, JSON.stringify({ messages }));
  messages.push({ role: 'assistant', content: reference.response });
  writeFileSync(join(dir, 'answered.json'), JSON.stringify({ messages }));
  await bus.checkpoints.upload({ runId: 'run', step: 7 }, checkpointIn('source', 'golden'));
}, 60_000);

afterAll(async () => {
  await bus.close();
  await nats.stop();
  rmSync(dir, { recursive: true, force: true });
});

beforeEach(() => environment({ NATS_URL: nats.url }));
afterEach(() => (process.env = before));

/** As on a third machine, which has a model of that name but no data of the run. */
function environment(changes: NodeJS.ProcessEnv): void {
  process.env = {
    ...before,
    UIRL_RUNS_DIR: join(dir, 'runs'),
    UIRL_CACHE_DIR: join(dir, 'cache'),
    UIRL_MODELS: `golden=${join(golden, 'model')}`,
    ...changes,
  };
}

function checkpointIn(folder: string, model: string): string {
  const path = join(dir, folder);
  mkdirSync(path, { recursive: true });
  cpSync(join(golden, 'adapter'), path, { recursive: true });
  writeFileSync(
    join(path, 'state.json'),
    JSON.stringify({ format: 1, runId: 'run', step: 7, model: { name: model } }),
  );
  return path;
}

async function run<T>(command: keyof typeof commands, ...flags: string[]): Promise<T | undefined> {
  const out = join(dir, 'out.json');
  const log = jest.spyOn(console, 'log').mockImplementation(() => undefined);
  const progress = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    const json = command === 'export' ? [] : ['--json', out];
    await commands[command]().parseAsync([...json, ...flags], { from: 'user' });
  } finally {
    log.mockRestore();
    progress.mockRestore();
  }
  return command === 'export' ? undefined : (JSON.parse(readFileSync(out, 'utf8')) as T);
}

async function scoreDifference(...flags: string[]): Promise<number> {
  const scores = await run<Scores>('score', '--input', join(dir, 'answered.json'), ...flags);
  return Math.max(
    ...expected.map((value, index) => Math.abs(value - (scores!.logprobs[index + 1] ?? Number.NaN))),
  );
}

it('score, generate and export take a checkpoint by its address, and its model by the name it says', async () => {
  expect(await scoreDifference('--checkpoint', address)).toBeLessThan(1e-4);
  const answer = await run<Answer>(
    'generate',
    '--checkpoint',
    address,
    '--input',
    input,
    '--max-tokens',
    '2',
  );
  expect(answer!.token_ids).toHaveLength(2);
  const out = join(dir, 'exported');
  await run('export', '--checkpoint', address, '--out', out);
  expect(readdirSync(out).toSorted()).toEqual(['adapter_config.json', 'adapter_model.safetensors']);
  const config = JSON.parse(readFileSync(join(out, 'adapter_config.json'), 'utf8')) as object;
  expect(config).toMatchObject({ peft_type: 'LORA' });
  expect(readdirSync(join(dir, 'cache/checkpoints'))).toHaveLength(1);
});

it('score takes a checkpoint by its folder, and one of this machine without a broker', async () => {
  environment({ NATS_URL: `nats://127.0.0.1:${await freePort()}` });
  expect(await scoreDifference('--checkpoint', join(dir, 'source'))).toBeLessThan(1e-4);
  environment({ NATS_URL: '' });
  const path = checkpointIn('runs/experiment/checkpoints/000007', 'golden');
  writeFileSync(join(path, 'manifest.json'), '{}');
  expect(await scoreDifference('--checkpoint', address)).toBeLessThan(1e-4);
  rmSync(join(dir, 'runs'), { recursive: true });
});

it('says what to do where checkpoint, model or broker are not there', async () => {
  const none = 'uirl://run/sampler_weights/000009';
  await expect(scoreDifference('--checkpoint', none)).rejects.toThrow(/object store, which has 000007/);
  await expect(scoreDifference('--checkpoint', 'uirl://run/7')).rejects.toThrow(
    /not the address of a checkpoint/,
  );
  await expect(scoreDifference()).rejects.toThrow(/which model\? Name a model or a checkpoint/);
  const both = ['--checkpoint', address, '--adapter', join(golden, 'adapter')];
  await expect(scoreDifference(...both)).rejects.toThrow(/adapter and a checkpoint are named/);
  const source = checkpointIn('elsewhere', 'only-there');
  await expect(scoreDifference('--checkpoint', source)).rejects.toThrow(
    /state\.json names the model only-there, which is not a folder, a name on the hub or a name in UIRL_MODELS; name the model with --model/,
  );
  expect(await scoreDifference('--checkpoint', source, '--model', 'golden')).toBeLessThan(1e-4);
  environment({ NATS_URL: `nats://127.0.0.1:${await freePort()}` });
  await expect(scoreDifference('--checkpoint', address)).rejects.toThrow(
    /is not in .*runs \(UIRL_RUNS_DIR\), and cannot be fetched: no broker at nats.*: npx ui-rl up$/,
  );
}, 120_000);

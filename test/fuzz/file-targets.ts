import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConversation } from '@ui-rl/api';
import { parseCheckpointName, parseSharedFileName } from '@ui-rl/contracts';
import {
  ChatTemplate,
  familyOf,
  imageSize,
  loadPromptFolder,
  ModelError,
  readSafetensors,
  readSafetensorsHeader,
  Tokenizer,
} from '@ui-rl/models';
import { isRecord, loadComponents, loadTasks, PluginError, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { parseRunFile, readRunFile, SettingsError } from '@ui-rl/settings';
import type { Target } from './target';

const root = join(__dirname, '../..');
const fixture = join(root, 'test/golden/fixtures/smolvlm-a/model');

let temporary: string | undefined;
/** Created on first use. */
function folder(): string {
  if (temporary !== undefined) return temporary;
  const made = (temporary = mkdtempSync(join(tmpdir(), 'uirl-fuzzed-')));
  process.on('exit', () => rmSync(made, { recursive: true, force: true }));
  return made;
}

const text = (input: Uint8Array): string => Buffer.from(input).toString('utf8');
const isModelError = (error: unknown): boolean => error instanceof ModelError;
const isSettingsError = (error: unknown): boolean =>
  error instanceof SettingsError || error instanceof PluginError;

/** Writes an input to a file of that name. */
function asFile(name: string, input: Uint8Array): string {
  const path = join(folder(), name);
  writeFileSync(path, input);
  return path;
}

function plain(input: Uint8Array): unknown {
  try {
    return JSON.parse(text(input));
  } catch {
    return undefined;
  }
}

const QUICKSTART = readFileSync(join(root, 'deploy/config/quickstart.yaml'));
const RUN_FILE = {
  model: { name: 'small', lora: { rank: 8, targets: 'all-linear' } },
  tasks: [{ source_type: 'demo_training', limit: 2 }],
  algorithm: { loss: { name: 'ppo', clip_high: 0.28 }, advantage: 'grpo' },
  rewards: [{ name: 'task_success', weight: 1 }],
  training: { max_steps: 3, learning_rate: 1e-4 },
};

let components: Promise<ComponentRegistry> | undefined;
const registry = (): Promise<ComponentRegistry> => (components ??= loadComponents({ packages: [] }));

const runFiles: Target[] = [
  {
    name: 'run-file/announced',
    input: (mutator) => Buffer.from(JSON.stringify(mutator.value([RUN_FILE])) ?? 'null'),
    feed: async (input) => parseRunFile(plain(input), await registry()) !== undefined,
    isRefusal: isSettingsError,
  },
  {
    name: 'run-file/yaml',
    input: (mutator) => mutator.bytes([QUICKSTART, Buffer.from(JSON.stringify(RUN_FILE))]),
    feed: async (input) => readRunFile({ file: asFile('run.yaml', input) }, await registry()) !== undefined,
    isRefusal: isSettingsError,
  },
  {
    name: 'run-file/flags',
    input: (mutator) =>
      mutator.bytes(
        [
          '--training.max_steps 3 --model.name small',
          '--tasks=[{"source_type":"demo_training"}] --algorithm.loss ppo --lr=1e-4',
        ].map((line) => Buffer.from(line)),
      ),
    feed: async (input) => {
      const flags = text(input).slice(0, 10_000).split(' ');
      return (
        readRunFile({ file: join(root, 'deploy/config/quickstart.yaml'), flags }, await registry()) !==
        undefined
      );
    },
    isRefusal: isSettingsError,
  },
];

const TASKS = [
  { description: 'Enable Wi-Fi', checks: [{ path: 'settings.wifi', operator: 'equals', value: true }] },
  { id: 'a', description: 'b', maxSteps: 3, environment: { kind: 'browser', options: { page: 'pocket' } } },
];
const CONVERSATION = { messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }] };
/** Serializes tasks for each file format. */
const TASK_FILES: Readonly<Record<string, (tasks: readonly unknown[]) => string>> = {
  'tasks.jsonl': (tasks) => tasks.map((task) => JSON.stringify(task)).join('\n'),
  'tasks.yaml': (tasks) => JSON.stringify(tasks),
  'tasks.csv': tableOf,
  'tasks.txt': (tasks) => tasks.map((task) => String(isRecord(task) ? task.description : task)).join('\n'),
};

function tableOf(tasks: readonly unknown[]): string {
  const records = tasks.filter(isRecord);
  const columns = [...new Set(records.flatMap((task) => Object.keys(task)))];
  const cellOf = (value: unknown): string => {
    const cell = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
    return `"${cell.replaceAll('"', '""')}"`;
  };
  const rows = records.map((task) => columns.map((column) => cellOf(task[column])));
  return [columns.map(cellOf), ...rows].map((row) => row.join(',')).join('\n');
}

const texts: Target[] = [
  ...Object.entries(TASK_FILES).map(([name, written]): Target => ({
    name: `file/${name}`,
    input: (mutator) => {
      const value = mutator.value([TASKS]);
      return mutator.bytes([Buffer.from(Array.isArray(value) ? written(value) : 'x')]);
    },
    feed: async (input) =>
      (await loadTasks(await registry(), [{ source_type: 'file', path: asFile(name, input) }])).length > 0,
    isRefusal: (error) => error instanceof PluginError,
  })),
  {
    name: 'file/conversation.json',
    input: (mutator) => mutator.bytes([Buffer.from(JSON.stringify(mutator.value([CONVERSATION])) ?? '')]),
    feed: async (input) => (await readConversation(asFile('conversation.json', input))) !== undefined,
    // User-facing errors without their own class.
    isRefusal: (error) => error instanceof Error && error.message.includes(folder()),
  },
  {
    name: 'addresses',
    input: (mutator) =>
      mutator.bytes(
        ['uirl://run/sampler_weights/000080', `uirl://file/${'ab'.repeat(32)}/tasks.jsonl`].map((line) =>
          Buffer.from(line),
        ),
      ),
    feed: (input) => {
      const address = text(input);
      return parseCheckpointName(address) !== undefined || parseSharedFileName(address) !== undefined;
    },
  },
];

const file = (name: string): Buffer => readFileSync(join(fixture, name));
const parsed = (name: string): unknown => JSON.parse(file(name).toString('utf8'));

/** Mutates a JSON file by value and by bytes. */
function jsonFile(name: string, feed: Target['feed']): Target {
  const sample = file(name);
  const value = parsed(name);
  return {
    name: `model/${name}`,
    input: (mutator) => mutator.bytes([Buffer.from(JSON.stringify(mutator.value([value])) ?? ''), sample]),
    feed,
    isRefusal: isModelError,
  };
}

let promptFolder: ReturnType<typeof loadPromptFolder> | undefined;

/** Two tensors: length of the header, header, data. */
function smallSafetensors(): Buffer {
  const header = Buffer.from(
    JSON.stringify({
      __metadata__: { format: 'pt' },
      a: { dtype: 'F32', shape: [2, 3], data_offsets: [0, 24] },
      b: { dtype: 'BF16', shape: [4], data_offsets: [24, 32] },
    }),
  );
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, header, Buffer.alloc(32, 1)]);
}

const models: Target[] = [
  {
    name: 'model/config.json',
    input: (mutator) => Buffer.from(JSON.stringify(mutator.value([parsed('config.json')])) ?? ''),
    feed: (input) => {
      const config = plain(input);
      if (typeof config !== 'object' || config === null || Array.isArray(config)) return false;
      return familyOf(config, 'config.json').parameters().length > 0;
    },
    isRefusal: isModelError,
  },
  jsonFile('tokenizer.json', async (input) => {
    const dir = join(folder(), 'tokenizer');
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, 'tokenizer.json'), input);
    const tokenizer = await Tokenizer.load(dir);
    return tokenizer.encode('Tap "Wi-Fi" 🙂').length > 0;
  }),
  {
    name: 'model/chat_template.jinja',
    input: (mutator) => mutator.bytes([file('chat_template.jinja')]),
    feed: (input) => {
      const template = new ChatTemplate(text(input));
      const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'x' }] }];
      return template.render(messages, { addGenerationPrompt: true }).length >= 0;
    },
    isRefusal: isModelError,
  },
  {
    name: 'model/model.safetensors',
    input: (mutator) => mutator.bytes([smallSafetensors()]),
    feed: async (input) => {
      const path = asFile('model.safetensors', input);
      await readSafetensorsHeader(path);
      return (await readSafetensors(path)).size > 0;
    },
    isRefusal: isModelError,
  },
  {
    name: 'image.png',
    input: (mutator) => mutator.bytes([readFileSync(join(fixture, '../images/0.png'))]),
    feed: async (input) => {
      const { imageProcessor } = await (promptFolder ??= loadPromptFolder(fixture));
      const { width } = await imageSize(input);
      return width > 0 && (await imageProcessor.process(input)) !== undefined;
    },
    isRefusal: isModelError,
  },
];

export const fileTargets: readonly Target[] = [...runFiles, ...texts, ...models];

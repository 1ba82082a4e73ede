import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadComponents, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { optionsHelp, parseRunFile, readRunFile, type RunFile, type RunFileSource } from './index';

const PLUGIN = `exports.components = [
  {
    kind: 'policy-loss', name: 'from_file', description: 'Reads weights.', inputs: ['advantages'], scope: 'token',
    options: { weights_of_mine: { type: 'file', description: 'weights', required: true } },
    create: ({ weights_of_mine }) => {
      if (!require('node:fs').existsSync(weights_of_mine)) throw new Error('made without its file');
      return { build: () => {} };
    },
  },
];`;
const BASE = ['--model.name', 'small', '--training.max_steps', '1'];
const CHECKPOINT = 'uirl://run/sampler_weights/000080';

let folder: string;
let registry: ComponentRegistry;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-files-'));
  for (const name of ['run', 'cwd', 'adapter']) mkdirSync(join(folder, name));
  for (const name of ['run/tasks.yaml', 'cwd/tasks.yaml', 'cwd/weights']) {
    writeFileSync(join(folder, name), '[]');
  }
  writeFileSync(join(folder, 'mine.js'), PLUGIN);
  registry = await loadComponents({ packages: [join(folder, 'mine.js')] });
});
afterAll(() => rmSync(folder, { recursive: true }));

function read(text: string, ...flags: string[]): RunFile {
  const file = join(folder, 'run/run.yaml');
  writeFileSync(file, text);
  return readRunFile({ file, flags: [...BASE, ...flags], workingDir: join(folder, 'cwd') }, registry);
}

const TASKS = 'tasks: {source_type: file, path: tasks.yaml}\n';

it('relative paths count from the run file, those of flags from the working directory', () => {
  expect(read(TASKS).tasks).toEqual([{ source_type: 'file', path: join(folder, 'run/tasks.yaml') }]);
  const flag = '{"source_type":"file","path":"tasks.yaml"}';
  expect(read('{}', '--tasks', flag).tasks).toEqual([
    { source_type: 'file', path: join(folder, 'cwd/tasks.yaml') },
  ]);
  const { algorithm } = read(
    `${TASKS}algorithm: {loss: from_file}`,
    '--algorithm.loss.weights_of_mine',
    'weights',
  );
  expect(algorithm.loss).toEqual({ name: 'from_file', weights_of_mine: join(folder, 'cwd/weights') });
  expect(read(TASKS, '--model.load_checkpoint', '../adapter').model.load_checkpoint).toBe(
    join(folder, 'adapter'),
  );
});

it('addresses stay what they are', () => {
  const address = `uirl://file/${'0'.repeat(64)}/tasks.yaml`;
  expect(read(`tasks: {source_type: file, path: '${address}'}`).tasks).toMatchObject([{ path: address }]);
  expect(read(TASKS, '--model.load_checkpoint', CHECKPOINT).model.load_checkpoint).toBe(CHECKPOINT);
});

it.each<[string, RunFileSource['flags'], RegExp]>([
  [
    'tasks: {source_type: file, path: none.yaml}',
    [],
    /run\.yaml: tasks\[0\]\.path is .*\/run\/none\.yaml, but there is no such file \(tasks: a list/,
  ],
  [
    TASKS,
    ['--model.load_checkpoint', 'none'],
    /--model.load_checkpoint: model\.load_checkpoint is .*\/cwd\/none, but there is no such folder/,
  ],
  [TASKS, ['--model.load_checkpoint', 'weights'], /cwd\/weights, a file, expected a folder/],
  [
    TASKS,
    ['--model.load_checkpoint', 'uirl://run/weights'],
    /expected the path of a folder, or an address such as/,
  ],
  [TASKS, ['--model.load_checkpoint', 'https://example.org/x'], /there is no such folder/],
])('what is not there ends the reading: %s %j', (text, flags, message) => {
  expect(() => read(text, ...(flags ?? []))).toThrow(message);
});

it('a service that receives a run file refuses paths of other machines, and folders as models', () => {
  const run = read(TASKS, '--model.load_checkpoint', '../adapter');
  run.model.name = '/models/mine';
  expect(() => parseRunFile(run, registry, 'run x')).toThrow(
    /^run x: model\.load_checkpoint is the path .*\/adapter on another machine, .*uirl:\/\/folder[^]*run x: tasks\[0\]\.path is the path [^]*run x: model\.name is the folder \/models\/mine, which is another one on each machine/,
  );
});

it('a service that receives a run file loads no module that it names, and says how to allow one', () => {
  const marker = join(folder, 'loaded');
  const module = join(folder, 'evil.js');
  writeFileSync(module, `require('node:fs').writeFileSync(${JSON.stringify(marker)}, '')`);
  const tasks = [{ source_type: 'demo_training' }];
  const announced = Object.assign(read(TASKS), { tasks, plugins: [module] });
  expect(() => parseRunFile(announced, registry, 'run x')).toThrow(
    /^run x: plugins is .*evil\.js.* names no modules.*: npx ui-rl up --plugins MODULE, or UIRL_PLUGINS=MODULE/,
  );
  expect(existsSync(marker)).toBe(false);
});

it('a component with an uploaded file is made by the service that has fetched it', () => {
  const run = read(`${TASKS}algorithm: {loss: from_file}`, '--algorithm.loss.weights_of_mine', 'weights');
  const address = `uirl://file/${'0'.repeat(64)}/weights`;
  run.tasks = [{ source_type: 'demo_training' }];
  run.algorithm.loss = { name: 'from_file', weights_of_mine: address };
  expect(parseRunFile(run, registry).algorithm.loss).toMatchObject({ weights_of_mine: address });
});

it('names of models are not folders, even if the working directory has such a folder', () => {
  mkdirSync(join(folder, 'cwd/lab'), { recursive: true });
  const named = (models: string[]) =>
    readRunFile(
      {
        flags: [...BASE.slice(2), '--model.name', 'lab', '--tasks', 'demo_eval'],
        workingDir: join(folder, 'cwd'),
        models,
      },
      registry,
    ).model.name;
  expect(named([])).toBe(join(folder, 'cwd/lab'));
  expect(named(['lab'])).toBe('lab');
});

it('help says which options are files', () => {
  expect(optionsHelp(registry)).toMatch(/ path\n +tasks: a list.*\n +the path of a file; required/);
});

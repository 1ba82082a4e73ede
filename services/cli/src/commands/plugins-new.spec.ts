import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { COMPONENT_KINDS } from '@ui-rl/plugin-kit';
import { loadRunFile } from '@ui-rl/settings';
import { programWith } from '../program';

const KINDS = COMPONENT_KINDS.filter((kind) => kind !== 'engine');
const nameOf = (kind: string) => `my-${kind}`;

let folder: string;
let before: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'plugins-new-'));
  before = process.cwd();
  process.chdir(folder);
});
afterAll(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true });
});

/** The output of a command. */
async function typed(...words: string[]): Promise<string> {
  const printed: string[] = [];
  const log = jest.spyOn(console, 'log').mockImplementation((line: string) => void printed.push(line));
  try {
    const program = programWith('plugins').exitOverride();
    for (const command of [...program.commands, ...program.commands.flatMap(({ commands }) => commands)]) {
      command.exitOverride().configureOutput({ writeErr: () => undefined });
    }
    await program.parseAsync(words, { from: 'user' });
  } finally {
    log.mockRestore();
  }
  return printed.join('\n');
}

it('writes a component of each kind, which is loaded and whose test passes', async () => {
  for (const kind of KINDS) {
    const told = await typed('plugins', 'new', kind, nameOf(kind));
    expect(told).toContain(`written to ./${kind}-my-${kind}: package.json, README.md`);
    expect(told).toContain(`npx ui-rl plugins --kind ${kind} ./${kind}-my-${kind}`);
  }
  const folders = KINDS.map((kind) => `./${kind}-${nameOf(kind)}`);
  const listed = JSON.parse(await typed('plugins', '--json', ...folders)) as { kind: string; name: string }[];
  for (const kind of KINDS) {
    expect(listed).toContainEqual(
      expect.objectContaining({
        kind,
        name: nameOf(kind),
        file: join(folder, `${kind}-${nameOf(kind)}`, 'src/index.js'),
      }),
    );
  }
  // Like `npm test` of each, in one process.
  const all = KINDS.map((kind) => `require('./${kind}-${nameOf(kind)}/src/index.test.js');`);
  writeFileSync('all.test.js', all.join('\n'));
  const { status, stdout } = spawnSync(process.execPath, ['--test', '--test-reporter=tap', 'all.test.js'], {
    encoding: 'utf8',
  });
  expect({ status, stdout: status === 0 ? '' : stdout }).toEqual({ status: 0, stdout: '' });
  expect(Number(/^# tests (\d+)/m.exec(stdout)?.[1])).toBeGreaterThanOrEqual(2 * 8);
}, 60_000);

it('a run file chooses each as the last lines say', async () => {
  for (const kind of KINDS) {
    const { choice } = JSON.parse(
      await typed('plugins', 'new', kind, `other-${kind}`, '--dir', `others/${kind}`, '--json'),
    ) as { choice: string };
    const common = [
      ['model:', 'model: { name: small }'],
      ['tasks:', 'tasks: demo_training'],
      ['training:', 'training: { max_steps: 1 }'],
    ].flatMap(([key, line]) => (choice.startsWith(key) ? [] : [line]));
    const own = choice.replace(/^training: \{/, 'training: { max_steps: 1,');
    writeFileSync('run.yaml', [`plugins: [./others/${kind}]`, ...common, own].join('\n'));
    const { run } = await loadRunFile({ file: 'run.yaml' });
    expect(JSON.stringify(run)).toContain(`other-${kind}`);
  }
}, 60_000);

it('runs its test by npm test', async () => {
  await typed('plugins', 'new', 'schedule', 'gentle', '--dir', 'gentle');
  const { status } = spawnSync('npm', ['test'], { cwd: join(folder, 'gentle'), encoding: 'utf8' });
  expect(status).toBe(0);
  const index = join(folder, 'gentle/src/index.js');
  writeFileSync(index, readFileSync(index, 'utf8').replace('Math.sqrt', 'Math.cbrt'));
  expect(spawnSync('npm', ['test'], { cwd: join(folder, 'gentle') }).status).not.toBe(0);
}, 60_000);

it.each<[string[], RegExp]>([
  [['rewrad', 'mine'], /expected one of .*Did you mean reward\?/],
  [['reward', 'My Reward'], /invalid component name "My Reward", expected lower-case words/],
  [['reward', '../up'], /invalid component name "\.\.\/up"/],
  [['reward', 'task-success'], /reward "task-success" already exists, in .*reward-task-success/],
  [['engine', 'mine'], /no template for an engine: an engine loads a model/],
  [['reward'], /missing required argument 'name'/],
])('refuses %j', async (words, message) => {
  await expect(typed('plugins', 'new', ...words)).rejects.toThrow(message);
});

it('overwrites nothing', async () => {
  mkdirSync('full');
  writeFileSync('full/notes.txt', 'mine');
  await expect(typed('plugins', 'new', 'reward', 'mine', '--dir', 'full')).rejects.toThrow(
    /full contains files; nothing was changed: name another folder with --dir/,
  );
  await expect(typed('plugins', 'new', 'reward', 'mine', '--dir', 'full/notes.txt')).rejects.toThrow(
    /notes\.txt is a file; nothing was changed/,
  );
  expect(existsSync('full/package.json')).toBe(false);
  expect(readFileSync('full/notes.txt', 'utf8')).toBe('mine');
});

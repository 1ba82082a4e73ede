import { spawnSync } from 'node:child_process';
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
import { examples, fileName, root } from './examples';

let folder: string;

/** A project of a user's, with the package installed. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-scripts-'));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(root, join(folder, 'node_modules/ui-rl'));
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

/** What each script prints. */
const SCRIPTS: Record<string, { args?: string[]; prints: RegExp }> = {
  'train.js': { prints: /^step 1 [\d.]+\n\{ success_rate: [^]*n: 2[^]*\} uirl:\/\/run-\S+\/000001\n$/ },
  'predict.js': {
    args: ['screen.png'],
    prints: /^\{"action":"click","x":\d+,"y":\d+\} \[ \{ action: 'click'/,
  },
  'play.js': {
    prints: /\n(completed|truncated) (true|false) \{ 'task-success': [01] \}\n[^]*\n[0-3] of 3\n$/,
  },
};

it('every script of the guides is among them', () => {
  const scripts = examples('js').filter(({ text }) => text.includes("require('ui-rl')"));
  expect(scripts.map(fileName).toSorted()).toEqual(Object.keys(SCRIPTS).toSorted());
});

it.each(Object.entries(SCRIPTS))(
  '%s does what the guide says',
  (file, { args = [], prints }) => {
    expect(run(file, ...args)).toMatch(prints);
    if (file === 'play.js') expect(existsSync(join(folder, 'last.png'))).toBe(true);
  },
  300_000,
);

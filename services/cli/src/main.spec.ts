import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(__dirname, '../../..');
const DESCRIPTION =
  'Open \u001b[2J\u009b1m\u202eWi-Fi\r\nforged-id                            Delete everything';

const SOURCE = `module.exports.default = {
  kind: 'task-source', name: 'hostile',
  create: () => ({
    load: () => [{ id: 'a\\u0007', description: ${JSON.stringify(DESCRIPTION)}, environment: { kind: 'browser', options: { url: 'https://example.com' } } }],
  }),
};`;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-cli-'));
  writeFileSync(join(folder, 'source.js'), SOURCE);
});
afterAll(() => rmSync(folder, { recursive: true }));

function run(...args: string[]): { stdout: string; stderr: string } {
  return spawnSync(
    process.execPath,
    [join(ROOT, 'libs/testkit/run-ts.cjs'), join(ROOT, 'services/cli/src/main.ts'), ...args],
    { cwd: ROOT, encoding: 'utf8', env: { ...process.env, UIRL_PLUGINS: join(folder, 'source.js') } },
  );
}

it('prints what others wrote so that no terminal obeys it, a task a line', () => {
  const { stdout } = run('tasks', 'list', '--source', 'hostile');
  expect(stdout.split('\n')).toHaveLength(2);
  expect(stdout).toMatch(/^a\\u0007 +Open \\u001b\[2J\\u009b1m\\u202eWi-Fi\\r\\nforged-id/);
}, 60_000);

it('prints JSON that says the same', () => {
  const { stdout } = run('tasks', 'list', '--source', 'hostile', '--json');
  expect(stdout).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
  expect(JSON.parse(stdout)).toMatchObject([{ id: 'a\u0007', description: DESCRIPTION }]);
}, 60_000);

it('prints errors so, too', () => {
  const { stderr } = run('tasks', 'list', '--source', '\u001b[31mnone');
  expect(stderr).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
  expect(stderr).toContain('\\u001b[31mnone');
}, 60_000);

import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keptSecret } from './private-file';

const ROOT = join(__dirname, '../../..');
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'ui-rl-private-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

test('a secret is kept, and replaced where others could have read it', () => {
  const path = join(dir, 'deep', 'secret');
  const secret = keptSecret(path);
  expect([readFileSync(path, 'utf8'), keptSecret(path)]).toEqual([secret, secret]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  chmodSync(path, 0o644);
  const next = keptSecret(path);
  expect(next).not.toBe(secret);
  expect([readFileSync(path, 'utf8'), statSync(path).mode & 0o777]).toEqual([next, 0o600]);
  writeFileSync(path, 'no secret');
  expect(keptSecret(path)).toMatch(/^[\w-]{32}$/);
  expect(readdirSync(join(dir, 'deep'))).toEqual(['secret']);
});

/** Waits for a common start time, then requests the secrets. */
const ASKS = `
const { keptSecret } = require('./libs/settings/src/private-file');
const [dir] = process.argv.slice(2);
process.stdin.once('data', () => {
  const secrets = Array.from({ length: 200 }, (_, index) => keptSecret(dir + '/' + index));
  process.stdout.write(JSON.stringify(secrets), () => process.exit(0));
});
process.stdout.write('ready');
`;

test('processes that begin together keep the same secret', async () => {
  const script = join(ROOT, `asks-${process.pid}.cjs`);
  writeFileSync(script, ASKS);
  try {
    const children = Array.from({ length: 4 }, () =>
      spawn(process.execPath, ['libs/testkit/run-ts.cjs', script, dir], { cwd: ROOT }),
    );
    await Promise.all(children.map(({ stdout }) => new Promise((resolve) => stdout.once('data', resolve))));
    const said = children.map(async ({ stdout, stdin }) => {
      const parts: Buffer[] = [];
      stdout.on('data', (part: Buffer) => parts.push(part));
      const ended = new Promise((resolve) => stdout.once('close', resolve));
      stdin.write('now');
      await ended;
      return JSON.parse(Buffer.concat(parts).toString()) as string[];
    });
    const [first, ...others] = await Promise.all(said);
    expect(first).toHaveLength(200);
    for (const other of others) expect(other).toEqual(first);
    expect(first).toEqual(first.map((_, index) => readFileSync(join(dir, String(index)), 'utf8')));
  } finally {
    rmSync(script, { force: true });
  }
}, 60_000);

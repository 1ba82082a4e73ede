import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { essentials, freePort, startNats } from '@ui-rl/testkit';

const PROGRAM = join(__dirname, '../../services/cli/bin/ui-rl.mjs');
/** The command's deadline (5 s) and start, on a machine with other load. */
const SOON_MS = 60_000;

const COMMANDS = [
  'train --config deploy/config/quickstart.yaml --detach',
  'runs list',
  'runs show mine --json',
  'runs stop mine',
  'runs delete mine',
  'episodes export --run mine --out episodes.jsonl',
  'tasks publish "Turn on Bluetooth"',
];
/** These look for a local checkpoint first. */
const OF_CHECKPOINTS = [
  'eval --checkpoint uirl://mine/sampler_weights/000001 --tasks demo_eval',
  'export --checkpoint uirl://mine/sampler_weights/000001 --out exported',
];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-no-broker-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Ended {
  code: number | null;
  output: string;
}

/** Kills commands that take longer, with the code null. */
function ends(words: string, env: Record<string, string>): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn('sh', ['-c', `exec '${process.execPath}' '${PROGRAM}' ${words}`], {
      cwd: join(__dirname, '../..'),
      env: { ...essentials(), UIRL_RUNS_DIR: join(folder, 'runs'), ...env },
      timeout: SOON_MS,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += String(text)));
    child.on('close', (code) => resolve({ code, output }));
  });
}

test.each(COMMANDS)(
  '%s ends soon where no broker is, and says how to start one',
  async (words) => {
    const port = await freePort();
    const { code, output } = await ends(words, { NATS_URL: `nats://127.0.0.1:${port}` });
    expect({ code, output }).toEqual({
      code: 1,
      output:
        `no broker at nats://127.0.0.1:${port}: connection refused (connect ECONNREFUSED 127.0.0.1:${port}); ` +
        'start the one that NATS_URL or NATS_CONTEXT names, or unset them and start one on this machine: npx ui-rl up\n',
    });
  },
  SOON_MS + 10_000,
);

test.each(OF_CHECKPOINTS)(
  '%s says so of a checkpoint that is not on this machine',
  async (words) => {
    const { code, output } = await ends(words, { NATS_URL: `nats://127.0.0.1:${await freePort()}` });
    expect(code).toBe(1);
    expect(output).toMatch(/no broker at nats:.*: npx ui-rl up$/m);
    expect(output).not.toContain('Nest');
    expect(output).not.toContain('\u001b');
  },
  SOON_MS + 10_000,
);

test(
  'something else that listens there is no broker either',
  async () => {
    const mute = createServer((socket) => void socket.on('error', () => {}).resume()).listen(0, '127.0.0.1');
    mute.unref();
    await once(mute, 'listening');
    const { port } = mute.address() as { port: number };
    const { code, output } = await ends('runs list', { NATS_URL: `nats://127.0.0.1:${port}` });
    mute.close();
    expect(code).toBe(1);
    expect(output).toMatch(/^no broker at nats:.*timeout.*npx ui-rl up\n$/s);
  },
  SOON_MS + 10_000,
);

test(
  'train says of a broker without services how to start them',
  async () => {
    const nats = await startNats();
    const child = spawn(process.execPath, [PROGRAM, 'train', '--config', 'deploy/config/quickstart.yaml'], {
      cwd: join(__dirname, '../..'),
      env: { ...essentials(), NATS_URL: nats.url },
    });
    let output = '';
    const warned = new Promise<void>((resolve) => {
      const read = (text: unknown) => {
        output += String(text);
        if (output.includes('npx ui-rl up')) resolve();
      };
      for (const stream of [child.stdout, child.stderr]) stream.on('data', read);
      child.on('close', () => resolve());
    });
    await warned;
    child.kill('SIGKILL');
    await nats.stop();
    expect(output).toContain(
      `no service has taken up the run after 10 s; start them: NATS_URL=${nats.url} npx ui-rl up`,
    );
  },
  SOON_MS,
);

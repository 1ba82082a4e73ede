import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@ui-rl/testkit';
import { writeSmallModel } from './support/small-model';

const ROOT = join(__dirname, '../..');
/** Every process that descends from the command carries it in its environment. */
const MARK = `E2E_INTERRUPT=${process.pid}`;

let folder: string;
let command: ChildProcess;
let output = '';

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-interrupt-'));
  await writeSmallModel(join(folder, 'model'));
}, 60_000);

afterAll(() => {
  for (const pid of marked()) process.kill(pid, 'SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** Living processes with the mark. */
function marked(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(MARK);
      } catch {
        return false;
      }
    })
    .map(Number);
}

function quickstart(flags: string[]): ChildProcess {
  const [name, value] = MARK.split('=');
  const child = spawn(
    process.execPath,
    [join(ROOT, 'services/cli/bin/ui-rl.mjs'), 'quickstart', '--minutes', '5', ...flags],
    { cwd: ROOT, env: { ...process.env, [name]: value, UIRL_RUNS_DIR: folder }, detached: true },
  );
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (output += String(text)));
  return child;
}

const onLinux = process.platform === 'linux' ? test : test.skip;

onLinux(
  'Ctrl-C in the middle of the training ends quickstart and everything it started',
  async () => {
    command = quickstart([
      ...['--model.name', join(folder, 'model'), '--evaluation.episodes_per_task', '1'],
      ...['--tasks.limit', '2', '--eval_tasks.limit', '2', '--rollout.group_size', '2'],
      ...[
        '--training.groups_per_batch',
        '2',
        '--environment.max_sessions',
        '4',
        '--rollout.concurrency',
        '4',
      ],
    ]);
    await eventually('training', () => /training .* step [1-9]/.test(output), 120_000, 100).catch((error) => {
      throw new Error(`${error.message}\n${output}`);
    });
    // The command, a broker, six services, and a browser.
    expect(marked().length).toBeGreaterThan(9);

    // As a terminal does: to every process in its foreground.
    process.kill(-command.pid!, 'SIGINT');
    const [code] = await once(command, 'exit');

    expect({ code, output: code === 130 ? '' : output }).toEqual({ code: 130, output: '' });
    expect(marked()).toEqual([]);
  },
  180_000,
);

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { descendants, eventually, running } from '@ui-rl/testkit';

const ROOT = join(__dirname, '../..');
/** Every process of ours that descends from the command carries it in its environment; browsers have a clean one. */
const MARK = `E2E_INTERRUPT=${process.pid}`;

let folder: string;
let command: ChildProcess;
let output = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-interrupt-'));
});

afterAll(() => {
  for (const pid of [...pidsBelow(command.pid!), ...marked()]) process.kill(pid, 'SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** Living processes with the mark. */
function marked(): number[] {
  return process.platform === 'linux' ? markedInProc() : markedByPs();
}

function markedInProc(): number[] {
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

function markedByPs(): number[] {
  const lines = execFileSync('ps', ['-axEww', '-o', 'pid=,command='], { encoding: 'utf8' }).split('\n');
  return lines.filter((line) => line.includes(MARK)).map((line) => Number.parseInt(line, 10));
}

const pidsBelow = (ancestor: number) => descendants(ancestor).map(({ pid }) => pid);

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

test('Ctrl-C in the middle of the training ends quickstart and everything it started', async () => {
  command = quickstart([
    ...['--evaluation.episodes_per_task', '1', '--rollout.group_size', '4'],
    ...['--training.groups_per_batch', '2', '--training.num_substeps', '1'],
    ...['--environment.max_sessions', '4', '--rollout.concurrency', '4', '--evaluation.baseline=false'],
  ]);
  const trains = () => /training .* step [1-9]/.test(output);
  await eventually('training or an early end', () => trains() || command.exitCode !== null, 300_000, 100);
  if (!trains()) throw new Error(output);
  const started = [command.pid!, ...pidsBelow(command.pid!)];
  // The command, a broker, six services, and a browser of several processes.
  expect(started.length).toBeGreaterThan(9);

  // As a terminal does: to every process in its foreground.
  process.kill(-command.pid!, 'SIGINT');
  const [code] = await once(command, 'exit');

  expect({ code, output: code === 130 ? '' : output }).toEqual({ code: 130, output: '' });
  expect([...marked(), ...running(started)]).toEqual([]);
}, 420_000);

test('so does whoever closes the pipe that it prints to', async () => {
  output = '';
  command = quickstart(['--evaluation.episodes_per_task', '1']);
  const isUp = () => output.includes('monitor http');
  await eventually('services or an early end', () => isUp() || command.exitCode !== null, 60_000, 100);
  if (!isUp()) throw new Error(output);
  const started = [command.pid!, ...pidsBelow(command.pid!)];
  // As `| head` does.
  command.stdout!.destroy();
  const [code] = await once(command, 'exit');
  expect({ code, output: code === 143 ? '' : output }).toEqual({ code: 143, output: '' });
  expect([...marked(), ...running(started)]).toEqual([]);
}, 120_000);

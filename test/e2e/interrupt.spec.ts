import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { descendants, eventually, running } from '@ui-rl/testkit';

const ROOT = join(__dirname, '../..');
/** Environment variable of every descendant of the command, except browsers, whose environment is clean. */
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

/** Running processes with the mark. */
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

function quickstart(flags: string[], within: (words: string[]) => string[] = (words) => words): ChildProcess {
  const [name, value] = MARK.split('=');
  const words = [join(ROOT, 'services/cli/bin/ui-rl.mjs'), 'quickstart', '--minutes', '5', ...flags];
  const [program, ...args] = within([process.execPath, ...words]);
  output = '';
  const child = spawn(program, args, {
    cwd: ROOT,
    env: { ...process.env, [name]: value, UIRL_RUNS_DIR: folder, TMPDIR: folder },
    detached: true,
  });
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

  // Like a terminal: to every process in its foreground group.
  process.kill(-command.pid!, 'SIGINT');
  const [code] = await once(command, 'exit');

  expect({ code, output: code === 130 ? '' : output }).toEqual({ code: 130, output: '' });
  expect([...marked(), ...running(started)]).toEqual([]);
}, 420_000);

/** Descendants after quickstart has printed the monitor's address. */
async function startedProcesses(): Promise<number[]> {
  const isUp = () => output.includes('monitor http');
  await eventually('services or an early end', () => isUp() || command.exitCode !== null, 60_000, 100);
  if (!isUp()) throw new Error(output);
  return [command.pid!, ...pidsBelow(command.pid!)];
}

/** Folders that quickstart creates for its broker and logs. */
const temporaryFolders = () => readdirSync(folder).filter((name) => /^ui-rl-\w{6}$/.test(name));

test('so does a reader that closes the pipe it prints to', async () => {
  command = quickstart(['--evaluation.episodes_per_task', '1']);
  const started = await startedProcesses();
  // Like `| head`.
  command.stdout!.destroy();
  const [code] = await once(command, 'exit');
  expect({ code, output: code === 143 ? '' : output }).toEqual({ code: 143, output: '' });
  expect([...marked(), ...running(started)]).toEqual([]);
}, 120_000);

test('so does a closed terminal', async () => {
  command = quickstart(['--evaluation.episodes_per_task', '1'], inTerminal);
  const started = await startedProcesses();
  expect(temporaryFolders()).toHaveLength(1);
  command.kill('SIGKILL');
  await eventually('the end of all', () => [...marked(), ...running(started)].length === 0, 60_000, 200);
  expect(temporaryFolders()).toEqual([]);
  expect(readFileSync(join(folder, 'stderr.log'), 'utf8')).not.toContain('EIO');
}, 180_000);

test('kill -9 of the command leaves no process and no password behind', async () => {
  command = quickstart(['--evaluation.episodes_per_task', '1']);
  const started = await startedProcesses();
  expect(temporaryFolders()).toHaveLength(1);
  command.kill('SIGKILL');
  await eventually('the end of all', () => [...marked(), ...running(started)].length === 0, 60_000, 200);
  expect(temporaryFolders()).toEqual([]);
}, 180_000);

/** `script` runs a command in a terminal, which closes with it. */
function inTerminal(words: string[]): string[] {
  const line = `exec ${words.map((word) => `'${word}'`).join(' ')} 2>'${join(folder, 'stderr.log')}'`;
  if (process.platform === 'darwin') return ['script', '-q', '/dev/null', 'sh', '-c', line];
  return ['script', '-qec', line, '/dev/null'];
}

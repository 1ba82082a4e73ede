import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

/** Folders of the system that a test sees, read-only: programs, libraries, certificates. Not the rest of `/etc`. */
const SYSTEM = [
  ...['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'],
  ...[
    'alternatives',
    'ssl',
    'ca-certificates',
    'pki',
    'ld.so.cache',
    'ld.so.conf',
    'ld.so.conf.d',
    'localtime',
  ].map((name) => `/etc/${name}`),
];
const RESOLUTION = ['/etc/resolv.conf', '/etc/hosts', '/etc/nsswitch.conf', '/run/systemd/resolve'];
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** Size of each writable folder, in memory. */
const WRITABLE_BYTES = 256 * 2 ** 20;
const WRITABLE = ['/tmp', '/tests', '/app', '/root', '/logs/agent', '/logs/artifacts', '/logs/verifier'];
const TESTS = '/run/uirl-tests';
/** Most bytes that are read of a reward file, and of the end of the test's output. */
const REWARD_BYTES = 65_536;
const OUTPUT_BYTES = 2_000;

/**
 * Runs test.sh as Harbor does, then prints the reward file to descriptor 3 and the end of the output to descriptor 4,
 * both of which the test does not have.
 */
const RUN = [
  `cp -R ${TESTS}/. /tests/ && chmod +x /tests/test.sh || exit 125`,
  '/tests/test.sh </dev/null >/logs/verifier/test-stdout.txt 2>&1 3>&- 4>&-',
  'code=$?',
  'cd /logs/verifier',
  `tail -c ${OUTPUT_BYTES} test-stdout.txt >&4`,
  'for name in reward.json reward.txt; do',
  `  if [ -f $name ]; then echo $name >&3; head -c ${REWARD_BYTES + 1} $name >&3; break; fi`,
  'done',
  'exit $code',
].join('\n');

/** A file that a test sees. */
export interface GivenFile {
  path: string;
  text: string;
}

export interface TestRun {
  /** Folder with test.sh. */
  tests: string;
  files: readonly GivenFile[];
  env: Readonly<Record<string, string>>;
  /** False for a network namespace without routes. */
  network: boolean;
  timeoutMs: number;
  signal: AbortSignal;
}

/** The end of a test. */
export interface TestEnd {
  /** Exit status; null if it was killed. */
  code: number | null;
  /** Name and content of the reward file; null without one. */
  reward: { name: string; text: string } | null;
  /** End of the output of the test, or of bubblewrap. */
  output: string;
  isLate: boolean;
}

/**
 * Runs tests/test.sh with bubblewrap (https://github.com/containers/bubblewrap): its own file system in memory, its
 * own processes, none of this process's environment. The kernel ends its processes with it.
 */
export async function runTest(run: TestRun): Promise<TestEnd> {
  const given = run.files.map((_, index) => index + 5);
  const child = spawn('bwrap', [...commandOf(run), '--', '/bin/sh', '-c', RUN], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe', ...given.map(() => 'pipe' as const)],
    // Its own session and process group.
    detached: true,
    env: { PATH },
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const streams = child.stdio as unknown as (Readable & Writable)[];
  const [fault, reward, output] = [2, 3, 4].map((at) => collect(streams[at], REWARD_BYTES * 2));
  for (const [index, { text }] of run.files.entries())
    streams[given[index]].on('error', () => undefined).end(text);
  let isLate = false;
  const end = (): void => {
    isLate = true;
    endGroup(child);
  };
  // Processes that the test has left running.
  child.once('exit', () => endGroup(child));
  const timer = setTimeout(end, run.timeoutMs);
  run.signal.addEventListener('abort', end, { once: true });
  if (run.signal.aborted) end();
  try {
    const code = await ended;
    const [name, ...lines] = reward().split('\n');
    const text = lines.join('\n');
    return {
      code,
      reward: name === '' ? null : { name, text },
      output: output().trim() === '' ? fault().slice(-OUTPUT_BYTES) : output(),
      isLate,
    };
  } finally {
    clearTimeout(timer);
    run.signal.removeEventListener('abort', end);
  }
}

/** Ends bubblewrap and the first process of its namespace, with which the kernel ends all others. */
function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // The group has ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Starts an empty sandbox. @throws Error with the reason and a way out */
export async function probeSandbox(path = PATH): Promise<void> {
  const probe = { tests: '/usr', files: [], env: {}, network: false };
  const child = spawn('bwrap', [...commandOf(probe), '--', '/bin/true'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: path },
  });
  const said = collect(child.stderr, OUTPUT_BYTES);
  const reason = await new Promise<string>((resolve) => {
    child.once('error', ({ message }) => resolve(message));
    child.once('close', (code) => resolve(code === 0 ? '' : said().trim() || `bwrap ended with ${code}`));
  });
  if (reason === '') return;
  throw new Error(
    `tests run in a sandbox, which does not start here (${reason}): install bubblewrap, and allow user namespaces`,
  );
}

function collect(stream: Readable, most: number): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream
    .on('error', () => undefined)
    .on('data', (chunk: Buffer) => {
      if (size < most) chunks.push(chunk);
      size += chunk.length;
    });
  return () => Buffer.concat(chunks).toString('utf8');
}

function commandOf({
  tests,
  files,
  env,
  network,
}: Pick<TestRun, 'tests' | 'files' | 'env' | 'network'>): string[] {
  const readable = (paths: readonly string[]) => paths.flatMap((path) => ['--ro-bind-try', path, path]);
  const writable = (path: string) => ['--size', String(WRITABLE_BYTES), '--tmpfs', path];
  return [
    ...['--die-with-parent', '--unshare-user', '--unshare-all', ...(network ? ['--share-net'] : [])],
    ...['--uid', '0', '--gid', '0', '--cap-drop', 'ALL', '--clearenv'],
    ...Object.entries({
      PATH,
      HOME: '/root',
      LANG: 'C.UTF-8',
      ...env,
    }).flatMap(([name, value]) => ['--setenv', name, value]),
    ...readable([...SYSTEM, ...(network ? RESOLUTION : [])]),
    ...['--ro-bind', tests, TESTS, '--proc', '/proc', '--dev', '/dev'],
    ...[...WRITABLE, '/dev/shm'].flatMap(writable),
    ...files.flatMap(({ path }, index) => ['--file', String(index + 5), path]),
    ...['--remount-ro', '/dev', '--remount-ro', '/', '--chdir', '/app'],
  ];
}

import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { changed, LEFT_OUT } from './changes';

const root = join(__dirname, '../../..');
const HELP = `npm run tinker:conformance -- --python VENV --skyrl CHECKOUT [--model DIR] [--patience N] [-- PYTEST…]

Drives \`ui-rl serve tinker\` with the official Python client: SkyRL's client tests (tests/tinker/test_api.py), our own tests of
refusals and of critics, and the program of docs/guides/tinker.md, each against its own server on a free port, with a folder that is removed afterwards.

  --python VENV      virtual environment with tinker, pytest, transformers and torch
  --skyrl CHECKOUT   a checkout of github.com/NovaSky-AI/SkyRL
  --model DIR        Hugging Face folder to serve (default: the shipped model)
  --patience N       times as long as their tests wait for what a log has to say (default 6)
`;
/** Importing them would take longer than many tests. */
const FIND_PACKAGES =
  'import importlib.util as u, sys; sys.exit(", ".join(n for n in ("tinker", "pytest", "transformers", "torch") if not u.find_spec(n)) or 0)';
const OUR_TESTS = ['conftest.py', 'test_guide.py', 'test_refusals.py', 'test_critic.py'];
const DEADLINE_MS = 60 * 60_000;

interface Report {
  test: string;
  outcome: 'passed' | 'failed' | 'skipped';
  seconds: number;
  reason: string;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      python: { type: 'string' },
      skyrl: { type: 'string' },
      model: { type: 'string', default: join(root, 'deploy/local/model') },
      patience: { type: 'string', default: '6' },
      help: { type: 'boolean', default: false },
    },
  });
  const { python: venv, skyrl, model, patience } = values;
  if (values.help || venv === undefined || skyrl === undefined) {
    console.log(HELP);
    process.exitCode = values.help ? 0 : 1;
    return;
  }
  const python = pythonOf(venv);
  const tests = join(skyrl, 'tests/tinker/test_api.py');
  if (!existsSync(tests)) throw new Error(`${tests} is not there; --skyrl has to name a checkout of SkyRL`);
  if (!existsSync(join(root, 'dist'))) throw new Error('ui-rl is not built yet. Run: npm run setup');
  const folder = mkdtempSync(join(tmpdir(), 'tinker-conformance-'));
  try {
    writeFileSync(join(folder, 'test_api.py'), changed(readFileSync(tests, 'utf8')));
    for (const name of OUR_TESTS) copyFileSync(join(__dirname, name), join(folder, name));
    const report = join(folder, 'report.jsonl');
    writeFileSync(report, '');
    const key = `tml-${randomUUID()}`;
    const environment = {
      CONFORMANCE_MODEL: resolve(model),
      CONFORMANCE_PORT: String(await freePort()),
      CONFORMANCE_SERVER: [
        process.execPath,
        join(root, 'services/cli/bin/ui-rl.mjs'),
        'serve',
        'tinker',
      ].join('\n'),
      CONFORMANCE_GUIDE: join(root, 'docs/guides/tinker.md'),
      CONFORMANCE_REPORT: report,
      CONFORMANCE_PATIENCE: patience,
      CONFORMANCE_KEY: key,
      TINKER_SERVER_KEYS: key,
      HF_HUB_OFFLINE: '1',
      TINKER_TELEMETRY: '0',
    };
    const status = await pytest(python, folder, environment, positionals);
    const reports = readFileSync(report, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Report);
    print(reports, versions(python, skyrl));
    process.exitCode = status;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function pythonOf(venv: string): string {
  const python = resolve(venv, 'bin/python');
  if (!existsSync(python))
    throw new Error(`${python} is not there; --python has to name a virtual environment`);
  execFileSync(python, ['-c', FIND_PACKAGES], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return python;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((found) => server.listen(0, '127.0.0.1', found));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}

/** Returns the exit status; ends all child processes, servers included. */
function pytest(
  python: string,
  folder: string,
  environment: Readonly<Record<string, string>>,
  further: readonly string[],
): Promise<number> {
  const child = spawn(
    python,
    ['-m', 'pytest', '-p', 'no:cacheprovider', '--tb=short', '-v', ...further, folder],
    {
      cwd: folder,
      env: { ...process.env, ...environment },
      stdio: 'inherit',
      detached: true,
    },
  );
  const stop = (): void => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
  };
  const late = setTimeout(stop, DEADLINE_MS);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  return new Promise((ended, failed) => {
    child.once('error', failed);
    child.once('exit', (code) => {
      clearTimeout(late);
      ended(code ?? 1);
    });
  });
}

function versions(python: string, skyrl: string): string {
  const script = 'import importlib.metadata as m, sys; print(m.version("tinker"), sys.version.split()[0])';
  const [tinker, language] = execFileSync(python, ['-c', script], { encoding: 'utf8' }).trim().split(' ');
  let commit = 'of no commit';
  try {
    commit = execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], {
      cwd: skyrl,
      encoding: 'utf8',
      stdio: 'pipe',
    }).trim();
  } catch {
    // A source archive has none.
  }
  return `tinker ${tinker}, Python ${language}, SkyRL ${commit}`;
}

function print(reports: readonly Report[], versionsText: string): void {
  console.log(`\n${versionsText}\n\n| test | result | seconds |\n|---|---|---|`);
  for (const { test, outcome, seconds, reason } of reports) {
    console.log(
      `| ${test} | ${outcome}${reason === '' ? '' : `: ${reason.replaceAll('|', '/')}`} | ${seconds.toFixed(1)} |`,
    );
  }
  for (const [test, why] of Object.entries(LEFT_OUT)) console.log(`| ${test} | left out: ${why} | |`);
  const count = (outcome: Report['outcome']): number =>
    reports.filter((each) => each.outcome === outcome).length;
  console.log(`\n${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`);
}

void main().catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 1;
});

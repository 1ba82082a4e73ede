import 'reflect-metadata';
import { fork, type ChildProcess } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { DeviceMemoryWatch } from './device-memory';
import type { Line } from './lines';
import type { ModelName } from './models';
import { partsOf, runPart, type Part } from './parts';
import { root } from './places';
import { isWell, report } from './table';

const HELP = `run.sh OUT [options]      what a GPU does with this project: golden tests, training and sampling, beside the CPU

  OUT             folder for results.jsonl (a line as soon as something is known) and results.md
  --quick         small sizes, for a look at the command itself; the figures say nothing
  --only TEXT     only parts with that in their name
  --minutes N     no part runs after so many (9)
  --keep          leaves the models that were made, and says where
  --list          names the parts
  --report        only rewrites results.md, from results.jsonl and the lines of pytorch.py in pytorch.jsonl
`;

/** Measurements leave few cores for other work. */
const CORES_TO_SPARE = 4;

interface Run {
  out: string;
  /** folder of generated models */
  dir: string;
  quick: boolean;
  deadline: number;
  lines: Line[];
}

async function main(): Promise<void> {
  const [kind, ...rest] = process.argv.slice(2);
  if (kind === '--part') return answerAsPart(rest);
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { quick: flag, only: text, minutes: text, keep: flag, list: flag, report: flag, help: flag },
  });
  const { quick = false, only = '', minutes = '9' } = values;
  const parts = partsOf(quick).filter(({ name }) => name.includes(only));
  if (values.help === true) return console.log(HELP);
  if (values.list === true) return console.log(parts.map(({ name }) => name).join('\n'));
  if (positionals.length !== 1) throw new Error(`expected one folder for the results\n\n${HELP}`);
  if (!(Number(minutes) > 0)) throw new Error(`--minutes ${minutes}: expected a number above 0`);
  if (parts.length === 0) throw new Error(`--only ${only}: no part is called so; --list names them`);
  const out = resolve(positionals[0]);
  if (values.report === true) return writeFileSync(join(out, 'results.md'), report(linesIn(out)));
  const dir = mkdtempSync(join(tmpdir(), 'ui-rl-gpu-models-'));
  const run: Run = { out, dir, quick, deadline: Date.now() + Number(minutes) * 60_000, lines: [] };
  try {
    await runAll(parts, run);
  } finally {
    if (values.keep === true) console.log(`the models are in ${dir}`);
    else rmSync(dir, { recursive: true, force: true });
  }
  console.log(`\n${report(run.lines)}\nwritten to ${out}/results.jsonl and results.md`);
  process.exitCode = isWell(run.lines) ? 0 : 1;
}

/** The lines of earlier runs. */
function linesIn(out: string): Line[] {
  return ['results.jsonl', 'pytorch.jsonl']
    .map((name) => join(out, name))
    .filter((file) => existsSync(file))
    .flatMap((file) => readFileSync(file, 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}

async function runAll(parts: readonly Part[], run: Run): Promise<void> {
  mkdirSync(run.out, { recursive: true });
  writeFileSync(join(run.out, 'results.jsonl'), '');
  const models = modelsFor(parts, run);
  try {
    for (const part of parts) {
      console.log(`${part.name} …`);
      if (part.model !== undefined && !(await models.made(part.model))) continue;
      await runOne(part, run);
    }
  } finally {
    models.stop();
  }
}

/** Generates the models for the parts, concurrently if there are enough cores. */
function modelsFor(
  parts: readonly Part[],
  run: Run,
): { made(model: ModelName): Promise<boolean>; stop(): void } {
  const ends = new Map<ModelName, Promise<boolean>>();
  let making: ChildProcess | undefined;
  const make = async (model: ModelName): Promise<boolean> => {
    const part = { name: `making ${model}`, args: ['make', model], limit: 300 };
    return runOne(part, run, (child) => (making = child));
  };
  const made = (model: ModelName): Promise<boolean> => {
    const end = ends.get(model) ?? make(model);
    ends.set(model, end);
    return end;
  };
  const ahead = async (): Promise<void> => {
    for (const { model } of parts) if (model !== undefined) await made(model);
  };
  if (availableParallelism() > CORES_TO_SPARE) void ahead();
  return { made, stop: () => void making?.kill('SIGKILL') };
}

/** Runs one part in its own process. Returns whether it finished. */
async function runOne(part: Part, run: Run, onStart?: (child: ChildProcess) => void): Promise<boolean> {
  const { name, args, limit, model, variant } = part;
  const tell = (line: Line): void => note(line, run);
  const leftMs = Math.min(limit * 1000, run.deadline - Date.now());
  if (leftMs <= 0) {
    tell({ kind: 'failure', part: name, reason: 'the time of the whole run was over' });
    return false;
  }
  const watch = variant === undefined || variant === 'cpu' ? undefined : new DeviceMemoryWatch();
  const reason = await runChild(args, run, { leftMs, tell, onStart });
  const mib = watch?.stop();
  if (mib !== undefined && model !== undefined && variant !== undefined) {
    tell({ kind: 'figure', model, variant, what: 'device memory, at its peak', unit: 'MiB', value: mib });
  }
  if (reason !== undefined) tell({ kind: 'failure', part: name, reason });
  return reason === undefined;
}

interface ChildOptions {
  leftMs: number;
  tell: (line: Line) => void;
  onStart?: ((child: ChildProcess) => void) | undefined;
}

/** Returns the reason of a failure, if any. */
function runChild(
  args: readonly string[],
  run: Run,
  { leftMs, tell, onStart }: ChildOptions,
): Promise<string | undefined> {
  const [file, ...before] = __filename.endsWith('.ts')
    ? [join(root, 'libs/testkit/run-ts.cjs'), __filename]
    : [__filename];
  const child = fork(file, [...before, '--part', run.dir, String(run.quick), ...args], {
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  onStart?.(child);
  let errors = '';
  child.stderr!.on('data', (text: Buffer) => (errors = `${errors}${text.toString()}`.slice(-4000)));
  child.on('message', (line) => tell(line as Line));
  return new Promise((settle) => {
    let stopped = false;
    const timer = setTimeout(() => {
      stopped = true;
      child.kill('SIGKILL');
    }, leftMs);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      if (code === 0) settle(undefined);
      else if (stopped) settle(`stopped after ${(leftMs / 1000).toFixed(0)} s`);
      else settle(`ended with ${signal ?? `code ${code}`}: ${inShort(errors)}`);
    });
  });
}

function inShort(errors: string): string {
  const lines = errors
    .trim()
    .split('\n')
    .filter((line) => !line.startsWith('Warning: '));
  return lines.slice(0, 4).join(' ').slice(0, 600);
}

function note(line: Line, { out, lines }: Run): void {
  lines.push(line);
  appendFileSync(join(out, 'results.jsonl'), `${JSON.stringify(line)}\n`);
  writeFileSync(join(out, 'results.md'), report(lines));
  if (line.kind !== 'shares') console.log(`  ${JSON.stringify(line)}`);
}

/** The process of a part: sends each line to its parent. */
async function answerAsPart([dir, quick, ...args]: readonly string[]): Promise<void> {
  const told: Promise<void>[] = [];
  const tell = (line: Line): void => {
    told.push(new Promise((sent) => process.send!(line, () => sent())));
  };
  await runPart(args, { dir, quick: quick === 'true', tell });
  await Promise.all(told);
  process.exit(0);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
});

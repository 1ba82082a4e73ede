import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { fuzz, type Result } from './fuzz';
import { fuzzSubjects, type SubjectsReport } from './subjects';
import { targets } from './targets';

const HELP = `npm run fuzz -- [options]

  --inputs N     inputs in all, shared by the targets (100,000)
  --seed N       another seed, other inputs (1)
  --target A,B   only these, or those whose names begin so
  --at N         one input of a target again, as a failure names it
  --list         names of the targets
  --subjects N   sends N wrong messages to the services of a run instead, and looks whether they serve another one afterwards
`;

function readOptions() {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: {
      inputs: text,
      seed: text,
      target: text,
      at: text,
      subjects: text,
      list: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  return values;
}

function lineOf({ target, fed, accepted, seconds, growth, failure }: Result): string {
  const rate = Math.round(fed / Math.max(seconds, 0.001));
  const memory = `${(growth / 1e6).toFixed(1)} MB`;
  const counts = `${String(fed).padStart(9)} inputs, ${String(accepted).padStart(9)} accepted, ${String(rate).padStart(7)}/s, ${memory.padStart(9)}`;
  return `${failure === undefined ? 'ok     ' : 'FAILURE'} ${target.padEnd(28)} ${counts}${failure === undefined ? '' : `\n  ${failure}`}`;
}

function reportOfSubjects({ sent, ended, memory, afterwards }: SubjectsReport): void {
  for (const [name, [before, after]] of Object.entries(memory))
    console.log(`${name.padEnd(12)} ${(before / 1e6).toFixed(0)} MB, then ${(after / 1e6).toFixed(0)} MB`);
  for (const end of ended) console.log(end);
  console.log(`\n${sent} messages, ${ended.length} services ended; another run: ${afterwards}`);
  process.exitCode = ended.length === 0 ? 0 : 1;
}

async function main(): Promise<void> {
  const { inputs = '100000', seed = '1', target, at, subjects, list, help } = readOptions();
  if (help === true) return console.log(HELP);
  if (subjects !== undefined)
    return reportOfSubjects(await fuzzSubjects(Number(subjects), Number(seed), console.log));
  const wanted = target?.split(',') ?? [''];
  const names = targets
    .map(({ name }) => name)
    .filter((name) => wanted.some((start) => name.startsWith(start)));
  if (list === true) return console.log(names.join('\n'));
  const each = Math.ceil(Number(inputs) / names.length);
  if (names.length === 0 || !(each > 0)) throw new Error(`nothing to do\n\n${HELP}`);
  const [from, to] = at === undefined ? [0, each] : [Number(at), Number(at) + 1];
  const results = await fuzz(names, {
    seed: Number(seed),
    from,
    to,
    onResult: (result) => console.log(lineOf(result)),
  });
  const total = results.reduce((sum, { fed }) => sum + fed, 0);
  const failed = results.filter(({ failure }) => failure !== undefined).length;
  console.log(`\n${total} inputs of ${names.length} targets, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});

import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { loadComponents } from '@ui-rl/plugin-kit';
import { dryRun } from './dry-runs';
import { OptionSets } from './option-sets';
import { Judge } from './verdict';

const HELP = `npm run options -- [options]

  --sets N       random option sets (100,000)
  --dry-runs N   option sets that go through "ui-rl train --dry-run" instead, a process each
  --seed N       another seed, other sets (1)
  --at N         one set again, as a failure names it
`;

/** Failures after which the test stops. */
const MOST_FAILURES = 10;

async function main(): Promise<number> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: { sets: text, seed: text, at: text, 'dry-runs': text, help: { type: 'boolean' } },
  });
  if (values.help === true) {
    console.log(HELP);
    return 0;
  }
  const seed = Number(values.seed ?? 1);
  const registry = await loadComponents();
  const sets = new OptionSets(registry, seed);
  const judge = new Judge(registry);
  if (values.at !== undefined) {
    const set = sets.draw(Number(values.at));
    console.log(JSON.stringify(set, null, 2), judge.judge(set));
    return 0;
  }
  const counts = { starts: 0, refused: 0, unsound: 0 };
  const total = Number(values['dry-runs'] ?? values.sets ?? 100_000);
  const began = Date.now();
  for (let number = 0; number < total && counts.unsound < MOST_FAILURES; number += 1) {
    const set = sets.draw(number);
    const verdict = values['dry-runs'] === undefined ? judge.judge(set) : await dryRun(set, judge);
    counts[verdict.outcome] += 1;
    if (verdict.outcome === 'unsound') console.log(`--seed ${seed} --at ${number}\n  ${verdict.message}`);
    if ((number + 1) % 10_000 === 0) console.log(`${number + 1} sets: ${JSON.stringify(counts)}`);
  }
  const seconds = Math.round((Date.now() - began) / 1000);
  console.log(
    `${counts.starts} start, ${counts.refused} are refused with the name of an option, ${counts.unsound} neither; ${seconds} s`,
  );
  return counts.unsound === 0 ? 0 : 1;
}

void main().then((code) => (process.exitCode = code));

import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { TestFleet } from '../e2e/support/fleet';
import { differences, type KillResult, killsOf, runWithKills } from './kills';
import { headline, Ledger } from './ledger';

const HELP = `npm run kills -- [options]

  --kills N       until the ledger has so many (1,000)
  --per-run N     at most so many in one run (40)
  --minutes N     no further run after so many
  --ledger FILE   results, one run a line; it continues where the file ends (test/faults/kills.jsonl)
`;

/** Runs after which the fleet is restarted: the soak test covers processes that run for hours. */
const RUNS_PER_FLEET = 10;
const PAUSE_MS = [200, 5_000] as const;

function lineOf({ seed, kills, seconds, problems }: KillResult): string {
  const each = Object.entries(kills).map(([name, count]) => `${name} ${count}`);
  return [`run ${seed}: ${each.join(', ') || 'no kills'}; ${seconds} s`, ...problems].join('\n  ');
}

/** An undisturbed run, to which the others are compared. */
async function undisturbed(fleet: TestFleet): Promise<KillResult> {
  const calm = await runWithKills(fleet, { runId: 'calm', seed: 0, most: 0, pauseMs: PAUSE_MS });
  console.log(lineOf(calm));
  if (calm.problems.length > 0) throw new Error('that is an undisturbed run');
  return calm;
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: {
      kills: text,
      'per-run': text,
      minutes: text,
      ledger: text,
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) return console.log(HELP);
  const { kills = '1000', 'per-run': perRun = '40', minutes = 'Infinity' } = values;
  const ledger = new Ledger<KillResult>(values.ledger ?? 'test/faults/kills.jsonl');
  const until = Date.now() + Number(minutes) * 60_000;
  const isDone = () => killsOf(ledger.all) >= Number(kills) || Date.now() >= until;
  let calm: KillResult | undefined;
  while (!isDone()) {
    const fleet = await TestFleet.start({ database: 'postgres' });
    try {
      calm ??= await undisturbed(fleet);
      for (let run = 0; run < RUNS_PER_FLEET && !isDone(); run += 1) {
        const seed = ledger.all.length + 1;
        const most = Math.min(Number(perRun), Number(kills) - killsOf(ledger.all));
        const result = await runWithKills(fleet, { runId: `kills-${seed}`, seed, most, pauseMs: PAUSE_MS });
        result.problems.push(...differences(result, calm));
        console.log(lineOf(result));
        ledger.add({ ...result, problems: result.problems.map(headline) });
        // Its remains would affect the next run.
        if (result.problems.length > 0) break;
      }
    } finally {
      await fleet.stop();
    }
  }
  const failed = ledger.all.filter(({ problems }) => problems.length > 0).length;
  console.log(`\n${ledger.all.length} runs, ${killsOf(ledger.all)} kills, ${failed} runs with problems`);
  process.exitCode = failed === 0 ? 0 : 1;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});

import 'reflect-metadata';
import { appendFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { grows, soak, type SoakResult } from './soak';

const HELP = `npm run soak -- [options]      runs back to back on one fleet: what its processes occupy must not grow

  --minutes N     no further run after so many (120)
  --settling N    minutes at the beginning that do not count (30)
  --actors N      processes that play episodes (8)
  --out FILE      every reading, one a line, as JSON
`;

function table({ trends }: SoakResult): string {
  const rows = Object.entries(trends).map(([name, trend]) => {
    const { begin, end, slope, error } = trend;
    const growth =
      slope === null || error === null ? 'too short to tell' : `${slope.toFixed(2)} ± ${error.toFixed(2)}`;
    return `| ${name} | ${begin.toFixed(1)} | ${end.toFixed(1)} | ${growth} | ${grows(trend) ? 'GROWS' : ''} |`;
  });
  return [
    '| | first 5 minutes | last 5 minutes | by hour ± standard error | |',
    '|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const options = {
    minutes: text,
    settling: text,
    actors: text,
    out: text,
    help: { type: 'boolean' },
  } as const;
  const { values } = parseArgs({ options });
  if (values.help === true) return console.log(HELP);
  const { minutes = '120', settling = '30', actors = '8', out } = values;
  if (out !== undefined) writeFileSync(out, '');
  const result = await soak({
    minutes: Number(minutes),
    settling: Number(settling),
    actors: Number(actors),
    onRun: ({ runId, phase, seconds, steps, episodes }) =>
      console.log(`${runId}: ${phase}, ${seconds} s, ${steps} steps, ${episodes} episodes`),
    onReading: (reading) => {
      if (out !== undefined) appendFileSync(out, `${JSON.stringify(reading)}\n`);
    },
  });
  console.log(`\n${result.runs} runs, ${result.episodes} episodes\n\n${table(result)}`);
  for (const end of result.unexpectedEnds) console.log(end);
  const growing = Object.values(result.trends).some(grows);
  process.exitCode = growing || result.unexpectedEnds.length > 0 ? 1 : 0;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});

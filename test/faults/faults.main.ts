import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { FaultLab, type Scenario } from './scenario';
import { clockJumps } from './scenarios/clock-jumps';
import { fullDisk } from './scenarios/full-disk';
import { fullStore } from './scenarios/full-store';
import { killedDatabase } from './scenarios/killed-database';
import { memory } from './scenarios/memory';
import { natsCluster } from './scenarios/nats-cluster';
import { partition } from './scenarios/partition';
import { slowLinks } from './scenarios/slow-links';
import { tornStore } from './scenarios/torn-store';
import { twoOfEverything } from './scenarios/two-of-everything';

const SCENARIOS: readonly Scenario[] = [
  ...[
    twoOfEverything,
    partition,
    slowLinks,
    clockJumps,
    memory,
    killedDatabase,
    fullDisk,
    fullStore,
    tornStore,
    natsCluster,
  ],
];

const HELP = `npm run faults -- NAME…      plays scenarios, each on its own fleet; "all" plays every one

${SCENARIOS.map(({ name, shows }) => `  ${name.padEnd(20)}${shows}`).join('\n')}
`;

async function play(scenario: Scenario): Promise<boolean> {
  const began = performance.now();
  const lab = await FaultLab.start(scenario.fleet ?? {});
  try {
    const problems = await lab.play(scenario);
    const seconds = Math.round((performance.now() - began) / 1000);
    const steps = lab.log?.steps.length ?? 0;
    const episodes = lab.log?.trajectories ?? [];
    const failed = episodes.filter(({ status }) => status === 'invalid').length;
    console.log(
      `${scenario.name}: ${problems.length === 0 ? 'ok' : 'FAILURE'}, ${seconds} s, ${steps} steps, ${episodes.length} episodes, ${failed} of them invalid`,
    );
    for (const problem of problems) console.log(`    ${problem}`);
    return problems.length === 0;
  } finally {
    await lab.stop();
  }
}

async function main(): Promise<void> {
  const { positionals } = parseArgs({ allowPositionals: true });
  const wanted = positionals.includes('all') ? SCENARIOS.map(({ name }) => name) : positionals;
  const unknown = wanted.filter((name) => !SCENARIOS.some((scenario) => scenario.name === name));
  if (wanted.length === 0 || unknown.length > 0) {
    console.log(HELP);
    process.exitCode = unknown.length > 0 ? 1 : 0;
    return;
  }
  for (const scenario of SCENARIOS.filter(({ name }) => wanted.includes(name))) {
    if (!(await play(scenario))) process.exitCode = 1;
  }
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});

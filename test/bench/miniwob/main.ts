import 'reflect-metadata';
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { check, table, type Checked } from './check';
import { solve } from './popups';
import { compareResets, resetsTable, type Alike } from './resets';
import { openings, resets, steps, type Speed } from './speed';
import { tableMain } from './table/main';
import { World } from './world';

const HELP = `npm run bench:miniwob -- [options]      the pages of MiniWoB++ in the browser environment

Opens every page twice from a seed and compares the first frames, has a random agent play it, and measures openings and steps in random
order of all pages, with the processor time of each. Ends with 1 where a page cannot be played.

  --table            how often a policy succeeds on each page: --table --help
  --dir DIR          checkout of MiniWoB++ (MINIWOB_DIR, or what ui-rl setup --miniwob has fetched)
  --only PART        check, speed (both), popups, or resets: the same episodes on pages that are loaded and on pages that are reset in
                     place, compared; and the speed of resets
  --seeds N          episodes of the random agent on each page (3)
  --pages N          pages at once, for speed (8)
  --openings N       and resets (125)
  --steps N          (800)
  --out FILE         everything as JSON
`;

/** Pages whose resets are measured. */
const PAGES_OF_RESETS = 25;

async function main(): Promise<void> {
  if (process.argv.includes('--table')) return tableMain(process.argv.slice(2));
  const { values } = parseArgs({
    options: {
      dir: { type: 'string' },
      only: { type: 'string' },
      seeds: { type: 'string', default: '3' },
      pages: { type: 'string', default: '8' },
      openings: { type: 'string', default: '125' },
      steps: { type: 'string', default: '800' },
      out: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return;
  }
  if (values.only === 'resets')
    return resetsPart(values.dir, Number(values.seeds), Number(values.openings), values.out);
  const isSolving = values.only === 'popups';
  const world = await World.start(values.dir, Number(values.pages), {
    observation: isSolving ? 'both' : 'screenshot',
  });
  const report: { checked?: Checked[]; openings?: Speed; steps?: Speed } = {};
  try {
    if (isSolving) {
      report.checked = await solveAll(world, Number(values.seeds));
      console.log(table(report.checked));
      const all = report.checked.flatMap(({ episodes }) => episodes);
      if (all.some(({ success }) => !success)) process.exitCode = 1;
    } else if (values.only !== 'speed') {
      report.checked = await checkAll(world, Number(values.seeds));
      console.log(table(report.checked));
      if (report.checked.some(({ error }) => error !== undefined)) process.exitCode = 1;
    }
    if (!isSolving && values.only !== 'check') {
      const pages = Number(values.pages);
      report.openings = await openings(world, pages, Number(values.openings));
      console.log(line('openings', report.openings));
      report.steps = await steps(world, pages, Number(values.steps));
      console.log(line('steps', report.steps));
    }
  } finally {
    await world.close();
  }
  if (values.out !== undefined) writeFileSync(values.out, `${JSON.stringify(report, null, 1)}\n`);
}

async function resetsPart(
  dir: string | undefined,
  seeds: number,
  count: number,
  out: string | undefined,
): Promise<void> {
  // A tab for each displayed page: all of them in one browser, so they share its main process.
  const options = { reset: 'in_place', kept_pages: PAGES_OF_RESETS + 2, pages_per_browser: 64 };
  const [loaded, reset] = [await World.start(dir, 2), await World.start(dir, 2, options)];
  try {
    const compared: Alike[] = [];
    for (const task of reset.tasks)
      compared.push(
        await compareResets(
          loaded,
          reset,
          task,
          Array.from({ length: seeds }, (_, seed) => seed),
        ),
      );
    console.log(resetsTable(compared));
    const every = Math.ceil(reset.tasks.length / PAGES_OF_RESETS);
    const some = reset.tasks.filter((_, at) => at % every === 0);
    const speed = await resets(reset, some, 2, count);
    console.log(line(`resets of ${some.length} pages`, speed));
    if (compared.some(({ error, otherFirst }) => error !== undefined || otherFirst.length > 0))
      process.exitCode = 1;
    if (out !== undefined) writeFileSync(out, `${JSON.stringify({ compared, resets: speed }, null, 1)}\n`);
  } finally {
    await Promise.all([loaded.close(), reset.close()]);
  }
}

/** Two pages at a time, so that neither waits for the other's frames. */
async function checkAll(world: World, episodes: number): Promise<Checked[]> {
  const seeds = Array.from({ length: episodes }, (_, seed) => seed);
  const checked: Checked[] = [];
  const left = [...world.tasks];
  const next = async () => {
    for (let task = left.shift(); task !== undefined; task = left.shift())
      checked.push(await check(world, task, seeds));
  };
  await Promise.all([next(), next()]);
  return checked.toSorted((a, b) => (a.page < b.page ? -1 : 1));
}

async function solveAll(world: World, episodes: number): Promise<Checked[]> {
  const seeds = Array.from({ length: episodes }, (_, seed) => seed);
  const solved: Checked[] = [];
  for (const task of world.tasks) {
    const checked = await solve(world, task, seeds);
    if (checked !== null) solved.push(checked);
  }
  return solved;
}

function line(what: string, { count, perSecond, processorMs, load }: Speed): string {
  return `${what}: ${perSecond.toFixed(1)} a second, ${processorMs.toFixed(0)} ms of processor time each (${count}, load ${load.toFixed(1)})`;
}

void main();

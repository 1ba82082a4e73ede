import 'reflect-metadata';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { descendants, eventually, growthInWords } from '@ui-rl/testkit';
import { growths, playAtRandom, type Occupied, type Played } from './play';
import { filesBelow } from './proc';
import { WORLDS } from './worlds';

const HELP = `npm run soak:browser -- [options]      episodes of an agent that acts at random: nothing of them may stay behind
npm run soak:android -- [options]      the same on devices of the test

  --episodes N     (1000)
  --steps N        actions of an episode (8)
  --at-once N      episodes at a time (4)
  --seed N         another one, other actions (0)
`;

const NAMES: Readonly<Record<keyof Occupied, string>> = {
  memory: 'this process, MB',
  memoryOfOthers: 'what it has started, MB',
  processes: 'processes',
  renderers: 'renderers',
  openFiles: 'open files',
  files: 'files',
};

function shown(occupied: Occupied): string {
  const words = Object.entries(NAMES).map(
    ([name, meaning]) => `${meaning} ${Math.round(occupied[name as keyof Occupied])}`,
  );
  return words.join(', ');
}

function report(played: Played): boolean {
  const { episodes, actions, seconds, openMs, actionMs, ends } = played;
  console.log(
    `\n${episodes} episodes, ${actions} actions in ${seconds.toFixed(0)} s; opened in ${openMs.toFixed(0)} ms (median); ${actionMs.toFixed(0)} ms an action`,
  );
  for (const [end, times] of ends) console.log(`${times} × ${end}`);
  console.log(
    '\n| | after a fifth | at the end | by 1,000 episodes ± standard error | |\n|---|---|---|---|---|',
  );
  const trends = growths(played);
  for (const [name, meaning] of Object.entries(NAMES)) {
    const trend = trends[name as keyof Occupied];
    const { begin, end, grows } = trend;
    console.log(
      `| ${meaning} | ${begin.toFixed(0)} | ${end.toFixed(0)} | ${growthInWords(trend)} | ${grows ? 'GROWS' : ''} |`,
    );
  }
  return Object.values(trends).some(({ grows }) => grows);
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const { values, positionals } = parseArgs({
    options: { episodes: text, steps: text, 'at-once': text, seed: text, help: { type: 'boolean' } },
    allowPositionals: true,
  });
  const opens = WORLDS[positionals[0] ?? ''];
  if (values.help === true) return console.log(HELP);
  if (opens === undefined) throw new Error(`expected one of ${Object.keys(WORLDS).join(', ')}\n\n${HELP}`);
  const { episodes = '1000', steps = '8', 'at-once': atOnce = '4', seed = '0' } = values;
  const folder = mkdtempSync(join(tmpdir(), 'uirl-soak-'));
  process.env.TMPDIR = folder;
  try {
    const before = new Set(descendants(process.pid).map(({ pid }) => pid));
    const world = await opens(Number(atOnce), (message) => console.log(message));
    let played: Played;
    try {
      played = await playAtRandom(world, {
        episodes: Number(episodes),
        ...{ steps: Number(steps), atOnce: Number(atOnce), seed: Number(seed), folder },
        onReading: (count, occupied) => console.log(`${count} episodes: ${shown(occupied)}`),
      });
    } finally {
      await world.stop();
    }
    const grows = report(played);
    const leftProcesses = () => descendants(process.pid).filter(({ pid }) => !before.has(pid));
    await eventually('the end of all processes', () => leftProcesses().length === 0, 10_000).catch(
      () => undefined,
    );
    const left = [...leftProcesses().map(({ command }) => command), ...filesBelow(folder)];
    console.log(`left behind: ${left.length === 0 ? 'nothing' : `\n  ${left.join('\n  ')}`}`);
    process.exitCode = grows || left.length > 0 ? 1 : 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});

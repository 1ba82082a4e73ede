import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Random, type Action } from '@ui-rl/plugin-kit';
import { growthInWords, growthOf } from '@ui-rl/testkit';
import { filesOf, Lab, processesOf, until, value } from './support';

const HELP = `npm run soak:desktop -- [options]      episodes of an agent that acts at random: nothing of them may stay behind

  --episodes N     (2000: memory is judged after the first 1000)
  --steps N        actions of an episode (8)
  --pages N        every Nth episode shows a page in Chromium, the others a terminal (10)
  --width N        pixels of the screen (640 × 480)
  --height N
`;

const [KEYS, TEXTS] = [
  ['enter', 'tab', 'escape', 'a', 'ctrl', 'alt', 'shift', 'f4', 'f11', 'w', 'down', 'caps_lock', 'meta'],
  ['hello', 'ls -la\n', 'exit\n', 'Ünïcödé 漢字 😀', 'kill -9 $PPID\n', ':(){ :|:& };:\n', 'sleep 1000 &\n'],
];
const PAGE =
  '<title>page</title><textarea></textarea><button>one</button><script>let n = 0; onclick = () => n++; window.uirl = { reset() { n = 0; }, state: () => ({ n }) };</script>';

interface Size {
  width: number;
  height: number;
}

/** A random action. */
function anything(random: Random, { width, height }: Size): Action {
  const at = () => ({ x: random.below(width), y: random.below(height) });
  const point = () => [random.below(width), random.below(height)] as const;
  const kinds: (() => Action)[] = [
    () => ({
      action: random.pick([
        'click',
        'double_click',
        'triple_click',
        'right_click',
        'middle_click',
        'move',
      ] as const),
      ...at(),
    }),
    () => ({ action: 'click', ...at() }),
    () => ({ action: 'long_press', ...at(), seconds: 0.05 }),
    () => ({ action: 'type', text: random.pick(TEXTS) }),
    () => ({ action: 'key', keys: random.shuffled(KEYS).slice(0, 1 + random.below(3)) }),
    () => ({
      action: 'scroll',
      direction: random.pick(['up', 'down', 'left', 'right'] as const),
      amount: 1 + random.below(5),
    }),
    () => ({ action: 'drag', from: point(), to: point() }),
    () => ({ action: 'swipe', direction: random.pick(['up', 'down', 'left', 'right'] as const) }),
    () => ({ action: 'button', button: 'back' }),
  ];
  return random.pick(kinds)();
}

/** Sessions keep the replies of this many ended episodes for repeated requests; until then memory grows. */
const REMEMBERED = 1_000;

interface Totals {
  actions: number;
  openMs: number[];
  actMs: number;
  /** Outcome of the episode → count. */
  ends: Map<string, number>;
}

async function episode(
  lab: Lab,
  seed: number,
  steps: number,
  options: object,
  totals: Totals,
): Promise<string> {
  const random = new Random(seed);
  const screen = (options as { screen: Size }).screen;
  const began = performance.now();
  const opened = await lab.open(options as Record<string, unknown>, { seed, deadlineMs: 120_000 });
  if (!opened.ok) return `not opened, ${opened.error.code}: ${opened.error.message}`;
  totals.openMs.push(performance.now() - began);
  const { sessionId } = opened.value;
  for (let step = 0; step < steps; step++) {
    const acting = performance.now();
    const action = anything(random, screen) as unknown as Record<string, unknown>;
    const reply = await lab.sessions.step({ sessionId, stepId: `s${step}`, action, deadlineMs: 60_000 });
    totals.actMs += performance.now() - acting;
    totals.actions++;
    if (!reply.ok) return `invalid, ${reply.error.code}`;
    if (reply.value.done) {
      value(await lab.sessions.closeSession(sessionId));
      return 'closed by the agent';
    }
  }
  const closed = await lab.sessions.closeSession(sessionId);
  return closed.ok ? 'played' : `invalid, ${closed.error.code}`;
}

/** Memory of this process alone in MB, after garbage collection. */
function memoryMb(): number {
  (globalThis as { gc?: () => void }).gc?.();
  return Number(/^RssAnon:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))![1]) / 1024;
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const flags = {
    episodes: text,
    steps: text,
    pages: text,
    width: text,
    height: text,
    help: { type: 'boolean' },
  } as const;
  const { values } = parseArgs({ options: flags });
  if (values.help === true) return console.log(HELP);
  const { episodes = '2000', steps = '8', pages = '10', width = '640', height = '480' } = values;
  const count = Number(episodes);
  const screen = { width: Number(width), height: Number(height) };
  const lab = new Lab();
  lab.addPage('page', PAGE);
  await lab.start({ term: { command: ['xterm'] } });
  const before = { processes: processesOf().length, files: filesOf() };
  const memory: [episodes: number, mb: number][] = [];
  const totals: Totals = { actions: 0, openMs: [], actMs: 0, ends: new Map() };
  const began = Date.now();
  for (let index = 0; index < count; index++) {
    const shown = index % Number(pages) === 0 ? { page: 'page' } : { application: 'term' };
    const end = await episode(lab, index, Number(steps), { ...shown, screen }, totals);
    totals.ends.set(end, (totals.ends.get(end) ?? 0) + 1);
    if ((index + 1) % Math.ceil(count / 20) === 0) {
      memory.push([index + 1, memoryMb()]);
      const seconds = ((Date.now() - began) / 1_000).toFixed(0);
      console.log(
        `${index + 1} episodes, ${seconds} s, this process ${memory.at(-1)![1].toFixed(0)} MB, ${processesOf().length} processes of desktops`,
      );
    }
    // The test setup itself keeps a record of each.
    lab.seats.length = 0;
    lab.log.length = 0;
  }
  await lab.stop();
  await until(() => processesOf().length <= before.processes).catch(() => undefined);
  const left = {
    processes: processesOf().length - before.processes,
    files: filesOf().filter((file) => !before.files.includes(file)),
  };
  const opens = totals.openMs.toSorted((a, b) => a - b);
  const seconds = (Date.now() - began) / 1_000;
  console.log(
    `${count} episodes, ${totals.actions} actions in ${seconds.toFixed(0)} s; opened in ${opens[Math.floor(opens.length / 2)].toFixed(0)} ms (median); ${(totals.actMs / totals.actions).toFixed(0)} ms an action`,
  );
  for (const [end, times] of totals.ends) console.log(`${times} × ${end}`);
  const growth = growthOf(memory, REMEMBERED);
  const [begin, end] = [growth.begin, growth.end].map((mb) => mb.toFixed(0));
  console.log(
    growth.slope === null
      ? 'this process: too few episodes to tell whether its memory grows'
      : `this process, MB: ${begin} after ${REMEMBERED} episodes, ${end} at the end, by 1,000 episodes ${growthInWords(growth)}${growth.grows ? ' GROWS' : ''}`,
  );
  console.log(
    `left behind: ${Math.max(0, left.processes)} processes, ${left.files.length} files${left.files.map((file) => `\n  ${file}`).join('')}`,
  );
  process.exitCode = growth.grows || left.processes > 0 || left.files.length > 0 ? 1 : 0;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});

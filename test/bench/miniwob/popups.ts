import type { Task } from '@ui-rl/plugin-kit';
import type { Checked } from './check';
import { Screen, type Click } from './screen';
import type { World } from './world';

export type Solvers = Readonly<Record<string, (screen: Screen, goal: string) => Promise<void>>>;

/** Pages with popups of the browser (`choose-list`, `enter-date`, `enter-time`) or of the page itself. */
const SOLVERS: Solvers = {
  'choose-list': chooseFromList,
  'choose-date': chooseDate,
  'choose-date-easy': chooseDate,
  'choose-date-medium': chooseDate,
  'choose-date-nodelay': chooseDate,
  'enter-date': enterDate,
  'enter-time': enterTime,
};

const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
);
/** An empty place on the page. */
const CORNER: Click = [158, 205];
/** Clicks or wheel actions after which a solver gives up. */
const MAX_TURNS = 60;

/** Solves a page by actions based on its screen text; null if there is no solver for it. */
export async function solve(
  world: World,
  task: Task,
  seeds: readonly number[],
  solvers: Solvers = SOLVERS,
): Promise<Checked | null> {
  const page = task.id!.replace('miniwob.', '');
  const solver = solvers[page];
  if (solver === undefined) return null;
  const checked: Checked = { page, goal: '', sameFrame: true, sameGoal: true, episodes: [] };
  for (const seed of seeds) {
    const opened = await world.open(task, seed);
    const screen = new Screen(opened, opened.text ?? '');
    const goal = String(opened.state.goal);
    await solver(screen, goal);
    const { raw_reward: raw, success, positive } = await opened.close();
    const { clicks, done } = screen;
    checked.goal = goal;
    checked.episodes.push({
      ...{ seed, clicks, done, raw: Number(raw) },
      ...{ success: success === true, positive: positive === true },
    });
  }
  return checked;
}

async function chooseFromList(screen: Screen, goal: string): Promise<void> {
  const option = new RegExp(`option "${escaped(/^Select (.*) from/.exec(goal)![1])}".*\\(`);
  await screen.click(/combobox/);
  for (let turn = 0; !screen.has(option) && turn < MAX_TURNS; turn++) await screen.scroll(/option/, 'down');
  await screen.click(option);
  await screen.click(/button "Submit"/);
}

/** jQuery's calendar, which is a part of the page. */
async function chooseDate(screen: Screen, goal: string): Promise<void> {
  const [month, day, year] = dateOf(goal);
  await screen.click(/textbox/);
  const shown = () => {
    const name = screen.read(new RegExp(`text "(${MONTHS.join('|')})"`));
    return MONTHS.indexOf(name ?? '') + 12 * Number(screen.read(/text "(\d{4})"/));
  };
  const wanted = month - 1 + 12 * year;
  for (let turn = 0; shown() !== wanted && turn < MAX_TURNS; turn++) {
    await screen.click(shown() > wanted ? /"Prev"/ : /"Next"/);
  }
  await screen.click(new RegExp(`link "${day}" `));
  await screen.click(/button "Submit"/);
}

async function enterDate(screen: Screen, goal: string): Promise<void> {
  const [month, day, year] = dateOf(goal);
  const pad = (value: number) => String(value).padStart(2, '0');
  await screen.click(/button "Show date picker"/);
  await screen.click(/button "[A-Z][a-z]+ \d{4}"/);
  await screen.click(/button "\d{4}"/);
  for (let turn = 0; !screen.has(new RegExp(`option "${year}"`)) && turn < MAX_TURNS; turn++) {
    await screen.click(Number(screen.read(/option "(\d{4})"/)) > year ? /"previous years"/ : /"next years"/);
  }
  await screen.click(new RegExp(`option "${year}"`));
  await screen.click(new RegExp(`option "${year}-${pad(month)}"`));
  await screen.click(new RegExp(`option "${year}-${pad(month)}-${pad(day)}"`));
  await screen.click(/button "Submit"/);
}

async function enterTime(screen: Screen, goal: string): Promise<void> {
  const [, hour, minute, half] = /(\d+):(\d+) ([AP]M)/.exec(goal)!;
  await screen.click(/button "Show time picker"/);
  for (const part of [`${hour.padStart(2, '0')} hours`, `${minute} minutes`, half]) {
    const option = new RegExp(`option "${part}"`);
    const column = new RegExp(`option "\\d+ ${part.split(' ')[1]}"`);
    for (let turn = 0; !screen.has(option) && turn < MAX_TURNS; turn++) await screen.scroll(column, 'down');
    await screen.click(option);
  }
  // The picker covers the button; a press beside the picker closes it.
  await screen.clickAt(CORNER);
  await screen.click(/button "Submit"/);
}

function dateOf(goal: string): [number, number, number] {
  const [, month, day, year] = /(\d+)\/(\d+)\/(\d+)/.exec(goal)!;
  return [Number(month), Number(day), Number(year)];
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/**
 * Writes src/wording/taken.ts: digests of the skeletons of all goals of MiniWoB++ and the demo phone,
 * which tasks must not use.
 *
 *     node libs/testkit/run-ts.cjs libs/page-tasks/test/taken.main.ts FOLDER
 *
 * FOLDER contains MiniWoB++'s pages (`miniwob/html` of PyPI's package `miniwob` 1.1.0).
 */
import { readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { chromium, type Page } from 'playwright';
import { loadComponents, loadTasks } from '@ui-rl/plugin-kit';
import { findChromium } from '@ui-rl/testkit';
import { digestOf, marked, skeletonOf } from '../src/wording/provenance';

const SAMPLES = 40;

/** Runs in the page: the goals of a number of episodes. */
const GOALS = `(count) => Array.from({ length: count }, (_, seed) => {
  Math.seedrandom(String(seed));
  core.startEpisodeReal();
  const fields = [];
  try {
    const told = core.getUtterance();
    const goal = typeof told === 'string' ? told : told.utterance;
    for (const value of Object.values(told.fields ?? {})) fields.push(String(value));
    return { goal, fields };
  } finally { core.endEpisode(0, false); }
})`;

interface Told {
  goal: string;
  fields: string[];
}

async function goalsOf(page: Page, path: string): Promise<Told[]> {
  await page.goto(`file://${path}`);
  return page.evaluate<Told[]>(`(${GOALS})(${SAMPLES})`);
}

/** Marks the values that the page names as fields of its goal. */
function withMarks({ goal, fields }: Told): string {
  const values = fields.filter((value) => value.length > 1).toSorted((a, b) => b.length - a.length);
  return values.reduce((text, value) => text.replaceAll(value, marked('')), goal);
}

type Merge = (a: readonly string[], b: readonly string[]) => string;

/** Skeletons of goals, and common patterns of pairs that at least two goals follow. */
function templates(goals: readonly string[], merges: readonly Merge[]): string[] {
  const skeletons = [...new Set(goals)];
  const words = skeletons.map((skeleton) => skeleton.split(' '));
  const merged = words.flatMap((a, i) =>
    words.slice(i + 1).flatMap((b) => merges.map((merge) => merge(a, b))),
  );
  const all = [...new Set([...skeletons, ...merged])].filter((each) => each.split(' ').length > 1);
  const least = Math.min(2, skeletons.length);
  return all.filter(
    (each) => goals.length === 1 || skeletons.filter((goal) => isMadeBy(goal, each)).length >= least,
  );
}

/** For goals of equal length: any differing word is a name. */
function sameWords(a: readonly string[], b: readonly string[]): string {
  if (a.length !== b.length) return '';
  if (a.filter((word, at) => word !== b[at]).length > a.length / 2) return '';
  return skeletonOf(a.map((word, at) => (word === b[at] ? word : marked(''))).join(' '));
}

/** For goals with the same first and last words: everything in between is a name. */
function sameEnds(a: readonly string[], b: readonly string[]): string {
  const shorter = Math.min(a.length, b.length);
  let head = 0;
  while (head < shorter && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < shorter - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  return skeletonOf([...a.slice(0, head), marked(''), ...a.slice(a.length - tail)].join(' '));
}

function isMadeBy(goal: string, template: string): boolean {
  const source = template.split('*').map((part) => part.replaceAll(/[^\p{L}\p{N} ]/gu, ''));
  return new RegExp(`^${source.join('.+')}$`, 'u').test(goal);
}

async function main(folder: string): Promise<void> {
  const browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] });
  const page = await browser.newPage();
  const found = new Set<string>();
  try {
    const pages = join(resolve(folder), 'miniwob');
    for (const name of readdirSync(pages).filter((file) => file.endsWith('.html'))) {
      const goals = await goalsOf(page, join(pages, name)).catch((error: Error) => {
        console.error(`${name}: ${error.message.split('\n')[0]}`);
        return [];
      });
      const skeletons = goals.map((goal) => skeletonOf(withMarks(goal)));
      for (const each of templates(skeletons, [sameWords, sameEnds])) found.add(each);
    }
  } finally {
    await browser.close();
  }
  const demo = (await loadTasks(await loadComponents(), [{ source_type: 'demo_all' }])).map(
    ({ description }) => description,
  );
  for (const goal of demo) found.add(skeletonOf(goal));
  for (const verb of new Set(demo.map(firstWord))) {
    const goals = demo.filter((goal) => firstWord(goal) === verb);
    // Goals of one verb need not have one template: their ends alone would exclude all that the verb can begin.
    for (const each of templates(goals.map(skeletonOf), [sameWords])) found.add(each);
  }
  if (process.env.SHOW !== undefined) console.log([...found].toSorted().join('\n'));
  write([...found].filter((skeleton) => skeleton !== '' && skeleton !== '*'));
}

const firstWord = (goal: string): string => goal.split(' ')[0];

function write(skeletons: readonly string[]): void {
  const digests = skeletons.map(digestOf).toSorted();
  const lines = digests.map((digest) => digest).join(' ');
  const text = `/** Generated by test/taken.main.ts: digests of goal skeletons that tasks must not use. */
export const TAKEN: ReadonlySet<string> = new Set(
  '${lines}'.split(' '),
);
`;
  writeFileSync(join(__dirname, '../src/wording/taken.ts'), text);
  console.log(`${digests.length} digests`);
}

void main(process.argv[2]);

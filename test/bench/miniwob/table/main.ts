import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { loadComponents, loadTasks } from '@ui-rl/plugin-kit';
import { loadRunFile, projectRoot } from '@ui-rl/settings';
import { PAGES } from '../../../../plugins/task-source-miniwob/src/pages';
import { weightsOf } from '../../weights-of';
import { PAGES_AT_ONCE, playPages, settingOf, type TablePage, type TablePolicy } from './play';
import { tableText } from './report';
import { Ledger, type RowKey, type Training } from './row';

const HELP = `npm run bench:miniwob -- --table [options]      how often a policy succeeds on each of the 125 pages

Plays the pages that the ledger does not have yet, and writes a row for each as soon as it is played: stop it at any time, it continues when you start it again. Then prints the
table of the ledger.

  --policy POLICY    what ui-rl eval --checkpoint takes: a model, a folder, an address, an endpoint (small)
  --as NAME          what the table calls it (POLICY)
  --config FILE      run file that says how it is asked (deploy/config/miniwob-all.yaml)
  --look LOOK        160x210 or 332x214 (160x210)
  --temperature N    (0)
  --seeds N          episodes of each page (10)
  --seed N           set of seeds; training never draws from them (0)
  --pages A,B        only these pages
  --trained PAGES    what it was trained on: none, training-pages or all (none)
  --hours N          hours that it was trained
  --episodes N       episodes that it was trained on
  --ledger FILE      (test/bench/miniwob/ledger.jsonl)
  --print            only prints the table
`;

const TRAINED = ['none', 'training-pages', 'all'] as const;

export async function tableMain(args: string[]): Promise<void> {
  const text = (value: string) => ({ type: 'string', default: value }) as const;
  const { values } = parseArgs({
    args,
    options: {
      ...{
        table: { type: 'boolean' },
        help: { type: 'boolean' },
        print: { type: 'boolean', default: false },
      },
      ...{ policy: text('small'), as: { type: 'string' }, look: text('160x210'), temperature: text('0') },
      config: text(join(projectRoot, 'deploy/config/miniwob-all.yaml')),
      ...{ seeds: text('10'), seed: text('0'), pages: { type: 'string' }, trained: text('none') },
      ...{ hours: { type: 'string' }, episodes: { type: 'string' } },
      ledger: text(join(projectRoot, 'test/bench/miniwob/ledger.jsonl')),
    },
  });
  if (values.help) return console.log(HELP);
  const ledger = Ledger.read(values.ledger);
  if (!values.print) {
    const temperature = numberOf('temperature', values.temperature);
    const policy: TablePolicy = {
      ...{
        name: values.as ?? values.policy,
        checkpoint: values.policy,
        config: resolve(values.config),
        temperature,
      },
      training: {
        on: trainedOn(values.trained),
        hours: values.hours === undefined ? null : numberOf('hours', values.hours),
        episodes: values.episodes === undefined ? null : numberOf('episodes', values.episodes),
      },
    };
    const { run } = await loadRunFile({ file: policy.config }, []);
    const key = {
      ...{ policy: policy.name, weights: weightsOf(policy.checkpoint) },
      ...{ setting: settingOf(run, temperature, values.look), seed: numberOf('seed', values.seed) },
    };
    await playAll(ledger, policy, await pagesOf(values.pages), key, numberOf('seeds', values.seeds));
  }
  console.log(tableText(ledger.rows));
}

async function playAll(
  ledger: Ledger,
  policy: TablePolicy,
  pages: readonly TablePage[],
  key: Omit<RowKey, 'page'>,
  episodes: number,
): Promise<void> {
  const left = pages.filter(({ name }) => !ledger.has({ ...key, page: name }, episodes));
  if (left.length < pages.length)
    console.error(`the ledger has ${pages.length - left.length} of ${pages.length} pages`);
  const stopping = new AbortController();
  process.once('SIGINT', () => stopping.abort('Ctrl-C'));
  for (let at = 0; at < left.length; at += PAGES_AT_ONCE) {
    const some = left.slice(at, at + PAGES_AT_ONCE);
    const rows = await playPages(policy, some, { ...key, episodes }, stopping.signal);
    if (rows.length > 0 && rows.every(({ episodes: valid }) => valid.length === 0)) {
      throw new Error('no episode of these pages is valid, for the reasons above: the ledger stays as it is');
    }
    for (const row of rows) {
      ledger.add(row);
      const raws = row.episodes.map(({ raw }) => raw.toFixed(2)).join(' ');
      console.error(`${row.page.padEnd(28)} ${row.seconds.toFixed(1).padStart(6)} s  ${raws}`);
    }
  }
}

/** All pages, or the listed ones. Throws with a suggestion if one is unknown. */
async function pagesOf(names: string | undefined): Promise<readonly TablePage[]> {
  if (names === undefined) return PAGES;
  const pages = names.split(',');
  await loadTasks(await loadComponents(), [{ source_type: 'miniwob', pages }]);
  return PAGES.filter(({ name }) => pages.includes(name));
}

function trainedOn(text: string): Training['on'] {
  const found = TRAINED.find((each) => each === text);
  if (found === undefined) throw new Error(`--trained is ${text}, expected one of ${TRAINED.join(', ')}`);
  return found;
}

function numberOf(flag: string, text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value < 0)
    throw new Error(`--${flag} is ${text}, expected a number from 0`);
  return value;
}

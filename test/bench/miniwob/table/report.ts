import { wilson } from '@ui-rl/contracts';
import { keyText, type PlayedEpisode, type Row } from './row';

/**
 * CUA-Lite, September 2026: pixels only, 498 × 321, coordinates, one episode for each of the 125 pages, mean return
 * in percent.
 */
const PUBLISHED: readonly [string, number][] = [
  ['human', 93.5],
  ['Qwen3-VL-8B', 53.6],
  ['Qwen3-VL-4B', 47.2],
  ['Qwen3.5-4B', 28.0],
  ['UI-TARS-1.5-7B', 18.4],
];

/** Success rules by name. */
const RULES: Readonly<Record<'strict' | 'positive', (episode: PlayedEpisode) => boolean>> = {
  strict: ({ raw }) => raw === 1,
  positive: ({ raw }) => raw > 0,
};

interface Group {
  name: string;
  rows: Row[];
}

/** The ledger as Markdown: a line for each policy and side of the split, the published results, then each page. */
export function tableText(all: readonly Row[]): string {
  const groups = groupsOf(latest(all));
  return [summaryText(groups), publishedText(), ...groups.map(pagesText)].join('\n\n');
}

/** The last row of each key. */
function latest(rows: readonly Row[]): Row[] {
  return [...new Map(rows.map((row) => [keyText(row), row])).values()];
}

/** Rows of one policy, of all seed sets. */
function groupsOf(rows: readonly Row[]): Group[] {
  const groups = new Map<string, Group>();
  for (const row of rows) {
    const { policy, weights, setting } = row;
    const key = keyText({ policy, weights, setting, page: '', seed: 0 });
    const group = groups.get(key) ?? { name: nameOf(row), rows: [] };
    group.rows.push(row);
    groups.set(key, group);
  }
  return [...groups.values()];
}

function nameOf({ policy, weights, setting }: Row): string {
  return `${policy} (weights ${weights.slice(0, 8)}, ${setting.look}, temperature ${setting.temperature})`;
}

function summaryText(groups: readonly Group[]): string {
  const head = [
    'policy',
    'trained on',
    'pages',
    'episodes',
    'strict: raw reward 1',
    "positive: above 0 (BrowserGym's, the published mean return)",
    'mean raw reward',
    'training hours',
    'evaluation hours',
    'episodes/s',
  ];
  const lines = groups.flatMap(({ name, rows }) =>
    [undefined, 'train', 'test'].flatMap((split) => {
      const own = rows.filter((row) => split === undefined || row.split === split);
      if (own.length === 0) return [];
      return [
        summaryLine(split === undefined ? name : `– ${split === 'train' ? 'training' : 'test'} pages`, own),
      ];
    }),
  );
  return table(head, lines);
}

function summaryLine(name: string, rows: readonly Row[]): string[] {
  const episodes = rows.flatMap((row) => row.episodes);
  const seconds = rows.reduce((sum, row) => sum + row.seconds, 0);
  const [{ training }] = rows;
  return [
    name,
    training.on,
    String(new Set(rows.map(({ page }) => page)).size),
    String(episodes.length),
    share(episodes, RULES.strict),
    share(episodes, RULES.positive),
    mean(episodes),
    training.hours === null ? '–' : training.hours.toFixed(1),
    (seconds / 3600).toFixed(2),
    (episodes.length / seconds).toFixed(2),
  ];
}

function publishedText(): string {
  const lines = PUBLISHED.map(([name, percent]) => [name, percent.toFixed(1)]);
  return (
    'Published figures (CUA-Lite, September 2026: screenshots of 498 × 321 pixels, answers in coordinates, one episode for each of 125 pages):\n\n' +
    table(['policy', 'mean return, %'], lines)
  );
}

function pagesText({ name, rows }: Group): string {
  const pages = [...new Set(rows.map(({ page }) => page))].toSorted();
  const lines = pages.map((page) => {
    const own = rows.filter((row) => row.page === page);
    const episodes = own.flatMap((row) => row.episodes);
    const turns = episodes.reduce((sum, each) => sum + each.turns, 0) / Math.max(1, episodes.length);
    return [
      page,
      own[0].split,
      String(episodes.length),
      share(episodes, RULES.strict),
      share(episodes, RULES.positive),
      mean(episodes),
      turns.toFixed(1),
    ];
  });
  const head = ['page', 'split', 'episodes', 'strict', 'positive', 'mean raw reward', 'turns'];
  return `**${name}**\n\n${table(head, lines)}`;
}

/**
 * Percent with the 95 % Wilson interval. All pages have the same number of episodes, so the share of all episodes is
 * the mean over the pages; its interval is slightly wider than one that accounts for pages.
 */
function share(episodes: readonly PlayedEpisode[], counts: (episode: PlayedEpisode) => boolean): string {
  if (episodes.length === 0) return '–';
  const successes = episodes.filter(counts).length;
  const [low, high] = wilson(successes, episodes.length).map((bound) => (100 * bound).toFixed(1));
  return `${((100 * successes) / episodes.length).toFixed(1)} [${low}–${high}]`;
}

/** With the 95 % interval of the normal approximation; without interval for a single episode. */
function mean(episodes: readonly PlayedEpisode[]): string {
  const n = episodes.length;
  if (n === 0) return '–';
  const average = episodes.reduce((sum, { raw }) => sum + raw, 0) / n;
  if (n === 1) return average.toFixed(2);
  const variance = episodes.reduce((sum, { raw }) => sum + (raw - average) ** 2, 0) / (n - 1);
  const half = 1.96 * Math.sqrt(variance / n);
  return `${average.toFixed(2)} ± ${half.toFixed(2)}`;
}

function table(head: readonly string[], lines: readonly string[][]): string {
  const all = [head, head.map(() => '---'), ...lines];
  return all.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

import { ALGORITHMS } from './algorithms';
import { TASKS } from './definitions';
import { evaluated, MARKS, type Evaluated, type Reached, type Row } from './row';

/** The ledger as Markdown, a table for each task. */
export function tables(rows: readonly Row[]): string {
  return Object.keys(TASKS)
    .filter((task) => rows.some((row) => row.task === task))
    .map((task) => {
      const own = rows.filter((row) => row.task === task);
      return `**${task}**: ${TASKS[task].ability}. Before: ${before(own)}.\n\n${tableOf(own)}`;
    })
    .join('\n\n');
}

const HEAD = [
  'algorithm',
  'seeds',
  'after (95 % interval)',
  ...MARKS.map((mark) => `episodes to ${mark} %`),
  ...MARKS.map((mark) => `s to ${mark} %`),
  'episodes',
  's',
  'processor s',
];

/** The success rate of the untrained policy, measured by one algorithm's rows. */
function before(rows: readonly Row[]): string {
  const measured = rows.flatMap((row) => row.before ?? []);
  return measured.length === 0 ? 'not measured' : withInterval(pooled(measured));
}

function tableOf(rows: readonly Row[]): string {
  const lines = Object.keys(ALGORITHMS)
    .map((algorithm) => rows.filter((row) => row.algorithm === algorithm))
    .filter((own) => own.length > 0)
    .map((own) => `| ${cellsOf(own).join(' | ')} |`);
  return [`| ${HEAD.join(' | ')} |`, `|${'---|'.repeat(HEAD.length)}`, ...lines].join('\n');
}

function cellsOf(own: readonly Row[]): string[] {
  const seeds = own.map(({ seed }) => seed).toSorted((a, b) => a - b);
  const marked = (of: (reached: Exclude<Reached, null>) => number) =>
    MARKS.map((mark) =>
      reachedBy(
        own.map(({ marks }) => marks[mark]),
        of,
      ),
    );
  return [
    own[0].algorithm,
    seeds.join(', '),
    withInterval(pooled(own.map((row) => row.after))),
    ...marked(({ episodes }) => episodes),
    ...marked(({ seconds }) => seconds),
    ...[
      own.map(({ episodes }) => episodes),
      own.map(({ seconds }) => seconds),
      own.map(({ processorSeconds }) => Object.values(processorSeconds).reduce((sum, each) => sum + each, 0)),
    ].map((values) => median(values).toFixed(0)),
  ];
}

/** Median over the seeds that reached it, with their number if not all did. */
function reachedBy(times: readonly Reached[], of: (reached: Exclude<Reached, null>) => number): string {
  const reached = times.flatMap((time) => time ?? []);
  if (reached.length === 0) return '–';
  const share = reached.length === times.length ? '' : ` (${reached.length} of ${times.length})`;
  return `${median(reached.map(of)).toFixed(0)}${share}`;
}

function pooled(all: readonly Evaluated[]): Evaluated {
  const sum = (of: (each: Evaluated) => number) => all.reduce((total, each) => total + of(each), 0);
  return evaluated(
    sum(({ successes }) => successes),
    sum(({ episodes }) => episodes),
  );
}

function percent({ successes, episodes }: Evaluated): string {
  return `${((100 * successes) / episodes).toFixed(0)} %`;
}

function withInterval(all: Evaluated): string {
  const [low, high] = all.interval.map((bound) => (100 * bound).toFixed(0));
  return `${percent(all)} [${low}–${high}]`;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

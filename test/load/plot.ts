import type { Row } from './report';

const WIDTH = 720;
const PANEL = 200;
const LEFT = 70;
const RIGHT = 20;
const TOP = 34;

interface Panel {
  title: string;
  lines: readonly { name: string; color: string; of: (row: Row) => number }[];
}

const PANELS: readonly Panel[] = [
  {
    title: 'trajectories per second',
    lines: [
      { name: 'played', color: '#1f6feb', of: (row) => row.trajectoriesPerSecond },
      {
        name: 'if nothing but the simulated waits took time',
        color: '#999',
        of: (row) => row.idealPerSecond,
      },
    ],
  },
  {
    title: 'milliseconds of a turn beyond what is simulated',
    lines: [
      { name: 'median', color: '#1f6feb', of: (row) => row.turnOverheadMs.median },
      { name: '95 %', color: '#d29922', of: (row) => row.turnOverheadMs.p95 },
    ],
  },
  {
    title: 'processors',
    lines: [
      ...['learner', 'env', 'actors', 'broker', 'monitor', 'database', 'task-loader', 'evaluator'].map(
        (name, index) => ({
          name,
          color: ['#1f6feb', '#d29922', '#3fb950', '#f85149', '#a371f7', '#db61a2', '#39c5cf', '#999'][index],
          of: ({ cpu }: Row) => cpu[name] ?? 0,
        }),
      ),
    ],
  },
  {
    title: 'memory of all, MB',
    lines: [
      {
        name: 'at most',
        color: '#1f6feb',
        of: ({ memory }) => Object.values(memory).reduce((sum, { most }) => sum + most, 0),
      },
    ],
  },
];

/** Results by number of actors, as SVG: panels below each other; the axis of actors is logarithmic. */
export function plot(rows: readonly Row[]): string {
  const points = rows.filter(({ slow }) => slow === 'none').toSorted((a, b) => a.actors - b.actors);
  const height = PANELS.length * PANEL;
  const panels = PANELS.map((panel, index) => drawPanel(panel, points, index * PANEL));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="11">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    ...panels,
    '</svg>\n',
  ].join('\n');
}

function drawPanel({ title, lines }: Panel, rows: readonly Row[], top: number): string {
  const [above, below] = [top + TOP, top + PANEL - 24];
  const most = Math.max(1e-9, ...rows.flatMap((row) => lines.map(({ of }) => of(row))));
  const x = xOf(rows.map(({ actors }) => actors));
  const y = (value: number): number => below - ((below - above) * value) / most;
  const frame = [
    `<text x="${LEFT}" y="${top + 16}" font-weight="bold">${title}</text>`,
    `<path d="M${LEFT} ${above}V${below}H${WIDTH - RIGHT}" fill="none" stroke="#666"/>`,
    ...[0, most / 2, most].map(
      (value) => `<text x="${LEFT - 6}" y="${y(value) + 4}" text-anchor="end">${round(value)}</text>`,
    ),
    ...rows.map(
      ({ actors }) => `<text x="${x(actors)}" y="${below + 14}" text-anchor="middle">${actors}</text>`,
    ),
  ];
  const drawn = lines.flatMap(({ name, color, of }, index) => {
    const places = rows.map((row) => `${x(row.actors).toFixed(1)},${y(of(row)).toFixed(1)}`);
    return [
      `<polyline points="${places.join(' ')}" fill="none" stroke="${color}" stroke-width="2"/>`,
      ...places.map((place) => {
        const [cx, cy] = place.split(',');
        return `<circle cx="${cx}" cy="${cy}" r="3" fill="${color}"/>`;
      }),
      `<text x="${LEFT + 10}" y="${above + 12 + index * 13}" fill="${color}">${name}</text>`,
    ];
  });
  return [...frame, ...drawn].join('\n');
}

/** The x position of a number of actors, on a logarithmic scale. */
function xOf(actors: readonly number[]): (value: number) => number {
  const [least, most] = [Math.log(Math.min(...actors)), Math.log(Math.max(...actors))];
  const [from, to] = [LEFT + 20, WIDTH - RIGHT - 20];
  return (value) =>
    most === least ? (from + to) / 2 : from + ((to - from) * (Math.log(value) - least)) / (most - least);
}

function round(value: number): string {
  return Number(value.toPrecision(3)).toString();
}

import { useEffect, useRef, useSyncExternalStore } from 'react';
import uPlot from 'uplot';
import { time } from './format';

/** A line, or points with intervals if `low` and `high` are given. Arrays are as long as `x`. */
export interface ChartSeries {
  label: string;
  /** Name of a CSS variable. */
  color: string;
  x: number[];
  y: (number | null)[];
  low?: number[];
  high?: number[];
  faint?: boolean;
}

export interface ChartProps {
  series: ChartSeries[];
  /** `time`: x is seconds since 1970. */
  xKind: 'step' | 'time';
  /** Fixed range of y; a null bound follows the data. */
  yRange?: [number | null, number | null];
  format(value: number): string;
  height?: number;
}

const dark = window.matchMedia('(prefers-color-scheme: dark)');
function subscribeDark(changed: () => void): () => void {
  dark.addEventListener('change', changed);
  return () => dark.removeEventListener('change', changed);
}

export function Chart(props: ChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const isDark = useSyncExternalStore(subscribeDark, () => dark.matches);
  // The chart's structure; new data alone does not recreate the chart.
  const shape = props.series.map(({ label, color }) => `${label}:${color}`).join('|');

  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    const made = new uPlot(options(latest, element.clientWidth), aligned(latest.current.series), element);
    plot.current = made;
    const resize = new ResizeObserver(() => {
      made.setSize({ width: element.clientWidth, height: latest.current.height ?? 190 });
    });
    resize.observe(element);
    return () => {
      resize.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape, isDark]);

  useEffect(() => plot.current?.setData(aligned(props.series)), [props.series]);

  return <div className="chart" ref={host} />;
}

/** All series over the union of their x, in uPlot's form. */
export function aligned(series: ChartSeries[]): uPlot.AlignedData {
  const xs = [...new Set(series.flatMap(({ x }) => x))].sort((a, b) => a - b);
  const columns = series.map(({ x, y }) => {
    const at = new Map(x.map((position, index) => [position, y[index] ?? null]));
    return xs.map((position) => at.get(position) ?? null);
  });
  return [xs, ...columns];
}

function options(latest: { current: ChartProps }, width: number): uPlot.Options {
  const { series, xKind, height = 190 } = latest.current;
  const css = getComputedStyle(document.documentElement);
  const color = (name: string) => css.getPropertyValue(name).trim();
  const axis: uPlot.Axis = {
    stroke: color('--muted'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { stroke: color('--line'), width: 1, size: 4 },
    font: '11px system-ui, sans-serif',
  };
  const show = (value: number | null) => (value === null ? '–' : latest.current.format(value));
  return {
    width,
    height,
    padding: [10, 12, 0, 0],
    scales: {
      x: { time: xKind === 'time', range: xRange },
      y: { range: (_, low, high) => yRange(latest.current.yRange, low, high) },
    },
    axes: [
      { ...axis, size: 28, ...(xKind === 'step' ? STEP_TICKS : TIME_TICKS) },
      { ...axis, size: 52, values: (_, ticks) => ticks.map(show) },
    ],
    cursor: { points: { size: 6 }, drag: { x: true, y: false } },
    series: [
      xKind === 'step' ? { label: 'step' } : { label: 'time', value: (_, at: number | null) => moment(at) },
      ...series.map((line) => lineOptions(line, color(line.color), show)),
    ],
    hooks: { draw: [(plot) => drawIntervals(plot, latest.current.series, color)] },
  };
}

const STEP_TICKS: uPlot.Axis = { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000, 20_000] };

const DAY_SECONDS = 86_400;
const TIME_TICKS: uPlot.Axis = {
  space: 64,
  values: (_, ticks, _axis, _space, step) => ticks.map((at) => tick(at, step)),
};

function tick(at: number, step: number): string {
  const date = new Date(at * 1_000);
  if (step >= DAY_SECONDS) return date.toLocaleDateString('en', { day: 'numeric', month: 'short' });
  return time(date, step < 60);
}

function moment(at: number | null): string {
  return at === null ? '–' : time(new Date(at * 1_000), true);
}

function lineOptions(
  line: ChartSeries,
  stroke: string,
  show: (value: number | null) => string,
): uPlot.Series {
  const points = line.low !== undefined;
  return {
    label: line.label,
    stroke: line.faint === true ? `${stroke}55` : stroke,
    width: line.faint === true ? 1 : 2,
    spanGaps: true,
    paths: points ? () => null : undefined,
    points: points ? { show: true, size: 8, fill: stroke, stroke } : { show: line.x.length < 2, size: 5 },
    value: (_, value: number | null) => show(value),
  };
}

/** A single point is shown in the centre instead of at the edge of an arbitrary range. */
function xRange(plot: uPlot, low: number, high: number): uPlot.Range.MinMax {
  const [xs] = plot.data;
  if (xs.length === 1) {
    const around = plot.scales.x.time === true ? 60 : 1;
    return [xs[0] - around, xs[0] + around];
  }
  const margin = (high - low) * 0.02;
  return [low - margin, high + margin];
}

function yRange(range: ChartProps['yRange'], low: number | null, high: number | null): uPlot.Range.MinMax {
  const [from, to] = uPlot.rangeNum(low ?? 0, high ?? 1, 0.1, true);
  return [range?.[0] ?? from ?? 0, range?.[1] ?? to ?? 1];
}

function drawIntervals(plot: uPlot, series: ChartSeries[], color: (name: string) => string): void {
  const { ctx } = plot;
  ctx.save();
  ctx.lineWidth = 2 * devicePixelRatio;
  for (const line of series) {
    if (line.low === undefined || line.high === undefined) continue;
    ctx.strokeStyle = color(line.color);
    ctx.beginPath();
    line.x.forEach((x, index) => {
      const at = plot.valToPos(x, 'x', true);
      const cap = 4 * devicePixelRatio;
      const ends = [line.low![index], line.high![index]].map((value) => plot.valToPos(value, 'y', true));
      ctx.moveTo(at, ends[0]);
      ctx.lineTo(at, ends[1]);
      for (const end of ends) {
        ctx.moveTo(at - cap, end);
        ctx.lineTo(at + cap, end);
      }
    });
    ctx.stroke();
  }
  ctx.restore();
}

import { useEffect, useMemo, useRef, useState } from 'preact/compat';
import uPlot from 'uplot';
import { count, number, tickText, time, type Unit } from './format';
import { useParam } from './route';
import { useIsDark } from './theme';

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

/** `time`: x is seconds since 1970. `hours` since the first step. */
export type ChartX =
  'training step' | 'policy version' | 'time' | 'hours' | 'trained tokens' | 'trained episodes';

export interface ChartProps {
  /** The chart's name for screen readers. */
  title: string;
  series: ChartSeries[];
  x: ChartX;
  /** Name of y with its unit: `episodes per second`. */
  y: string;
  unit: Unit;
  /** Fixed range of y; a null bound follows the data. */
  yRange?: [number | null, number | null];
  format: (value: number) => string;
  /** Whether y is logarithmic: values of 0 and below are left out. */
  isLog?: boolean;
  height?: number;
}

/** Pixels. */
const HEIGHT = 210;
/** Rows of the table of a chart, at most. */
const MAX_ROWS = 1_000;

type Range = [number, number];
interface LatestProps extends ChartProps {
  data: uPlot.AlignedData;
  zoom: Range | null;
  setZoom: (zoom: Range | null) => void;
}
interface Latest {
  current: LatestProps;
}

/** Charts over the same x share their zoom and their cursor: the name of that x in the address. */
function axisOf(x: ChartX): string {
  if (x === 'training step' || x === 'policy version') return 'steps';
  return x.replace('trained ', '');
}

/** The part that is shown, kept in the address and shared by all charts over the same x. */
function useZoom(x: ChartProps['x']): [Range | null, (zoom: Range | null) => void] {
  const [text, set] = useParam(axisOf(x));
  const zoom = useMemo((): Range | null => {
    const [from, to] = text.split('~').map(Number);
    return text !== '' && from < to ? [from, to] : null;
  }, [text]);
  return [zoom, (next) => set(next === null ? '' : next.map((at) => Number(at.toFixed(2))).join('~'))];
}

interface Cursor {
  index: number;
  left: number;
}

export function Chart(props: ChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [zoom, setZoom] = useZoom(props.x);
  const [cursor, setCursor] = useState<Cursor | null>(null);
  const isDark = useIsDark();
  const { isLog = false, height = HEIGHT } = props;
  const data = useMemo(() => aligned(props.series, isLog), [props.series, isLog]);
  const latest = useRef({ ...props, data, zoom, setZoom });
  latest.current = { ...props, data, zoom, setZoom };
  // The chart's structure; new data alone does not recreate the chart.
  const shape = [
    props.x,
    props.y,
    isLog,
    ...props.series.map(({ label, color }) => `${label}:${color}`),
  ].join('|');

  // Before the effect that draws a new chart, which has the data.
  useEffect(() => {
    plot.current?.setData(data, zoom === null);
    zoomTo(plot.current, zoom);
  }, [data, zoom]);

  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    const resize = new ResizeObserver(() => {
      const [made, { clientWidth: width }] = [plot.current, element];
      if (made !== null && width !== made.width)
        made.setSize({ width, height: latest.current.height ?? HEIGHT });
    });
    const cancel = drawInTurn(() => {
      plot.current = new uPlot(options(latest, element.clientWidth, setCursor), latest.current.data, element);
      zoomTo(plot.current, latest.current.zoom);
      resize.observe(element);
    });
    return () => {
      cancel();
      resize.disconnect();
      plot.current?.destroy();
      plot.current = null;
      setCursor(null);
    };
  }, [shape, isDark]);

  return (
    <figure
      className="chart"
      aria-label={`${props.title}: ${props.y}${isLog ? ' (logarithmic)' : ''} by ${props.x}`}
    >
      <div className="plot" ref={host} style={{ minHeight: `${height}px` }}>
        {cursor !== null && <Tip props={props} data={data} cursor={cursor} />}
      </div>
      <Legend props={props} />
      <Table props={props} data={data} />
      {zoom !== null && (
        <button type="button" className="unzoom" onClick={() => setZoom(null)}>
          Show all
        </button>
      )}
    </figure>
  );
}

let lastDrawn = Promise.resolve();

/**
 * Draws a chart after the frame that shows the chart before it, so that the first one is on the screen early. Returns
 * what cancels it.
 */
function drawInTurn(draw: () => void): () => void {
  let isCancelled = false;
  lastDrawn = lastDrawn.then(() => {
    if (isCancelled) return undefined;
    try {
      draw();
    } catch (error) {
      reportError(error); // the next charts are drawn anyway
    }
    return new Promise<void>((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  });
  return () => {
    isCancelled = true;
  };
}

function zoomTo(plot: uPlot | null, zoom: Range | null): void {
  if (zoom !== null) plot?.setScale('x', { min: zoom[0], max: zoom[1] });
}

/** The series with their latest values: its size never depends on the pointer. */
function Legend({ props: { series, format } }: { props: ChartProps }) {
  return (
    <ul className="legend">
      {series.map(({ label, color, y, faint }) => {
        const last = y.findLast((value) => value !== null) ?? null;
        return (
          <li key={label} className={faint === true ? 'faint' : ''}>
            <i style={{ background: `var(${color})` }} />
            {label}
            {faint !== true && last !== null && <strong>{format(last)}</strong>}
          </li>
        );
      })}
    </ul>
  );
}

/** The values at the pointer, drawn over the chart. */
function Tip({ props, data, cursor }: { props: ChartProps; data: uPlot.AlignedData; cursor: Cursor }) {
  const [xs, ...columns] = data;
  const at = xs[cursor.index];
  if (at === undefined) return null;
  return (
    <div className={`tip ${cursor.left > 0.5 ? 'left' : ''}`} style={{ left: `${cursor.left * 100}%` }}>
      <strong>{placeText(props.x, at)}</strong>
      {props.series.map(({ label }, index) => {
        const value = columns[index]?.[cursor.index] ?? null;
        return (
          value !== null && (
            <span key={label}>
              {label} {props.format(value)}
            </span>
          )
        );
      })}
    </div>
  );
}

/** The same values for screen readers, and to copy; the latest first. */
function Table({ props, data }: { props: ChartProps; data: uPlot.AlignedData }) {
  const [isOpen, open] = useState(false);
  const [xs, ...columns] = data;
  const rows = Array.from(xs.keys()).toReversed().slice(0, MAX_ROWS);
  return (
    <details className="values" onToggle={(event) => open(event.currentTarget.open)}>
      <summary>Values as a table</summary>
      {isOpen && (
        <div className="scroll tall" tabIndex={0} role="group" aria-label={`Values of ${props.title}`}>
          <table className="rows">
            <thead>
              <tr>
                <th scope="col">{props.x}</th>
                {props.series.map(({ label }) => (
                  <th key={label} scope="col" className="num">
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row}>
                  <th scope="row">{placeText(props.x, xs[row], false)}</th>
                  {props.series.map(({ label }, index) => {
                    const value = columns[index]?.[row] ?? null;
                    return (
                      <td key={label} className="num">
                        {value === null ? '–' : props.format(value)}
                      </td>
                    );
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}

/** All series over the union of their x, in uPlot's form. */
export function aligned(series: ChartSeries[], isLog: boolean): uPlot.AlignedData {
  const xs = [...new Set(series.flatMap(({ x }) => x))].sort((a, b) => a - b);
  const columns = series.map(({ x, y }) => {
    const isDrawn = (value: number | null | undefined) =>
      value !== undefined && !(isLog && (value ?? 0) <= 0);
    const at = new Map(x.map((position, index) => [position, isDrawn(y[index]) ? y[index] : null]));
    return xs.map((position) => at.get(position) ?? null);
  });
  return [xs, ...columns];
}

function options(latest: Latest, width: number, setCursor: (cursor: Cursor | null) => void): uPlot.Options {
  const { series, x, y, unit, isLog = false, height = HEIGHT } = latest.current;
  const css = getComputedStyle(document.documentElement);
  const color = (name: string) => css.getPropertyValue(name).trim();
  const axis: uPlot.Axis = {
    stroke: color('--muted'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { stroke: color('--line'), width: 1, size: 4 },
    font: '11px system-ui, sans-serif',
    labelFont: '11px system-ui, sans-serif',
    labelSize: 18,
  };
  return {
    width,
    height,
    // Half of the last label of a time axis.
    padding: [10, x === 'time' ? 26 : 12, 0, 0],
    legend: { show: false },
    scales: {
      x: { time: x === 'time', range: xRange },
      y: {
        // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- uPlot's const enum has no value at run time
        distr: isLog ? 3 : 1,
        range: (_, low, high) => (isLog ? logRange(low, high) : yRange(latest.current.yRange, low, high)),
      },
    },
    axes: [
      { ...axis, size: 26, label: x, labelSize: 16, ...TICKS[axisOf(x)] },
      {
        ...axis,
        size: (_, ticks) => Math.max(54, ...(ticks ?? []).map((tick) => 14 + tick.length * 6.4)),
        label: y,
        values: (_, ticks, _axis, _space, increment) =>
          ticks.map((tick) => (isLog ? logTick(unit, tick) : tickText(unit, tick, increment))),
      },
    ],
    cursor: {
      sync: { key: axisOf(x), scales: ['x', null], setSeries: false },
      points: { size: 6 },
      drag: { x: true, y: false, setScale: false },
      bind: { dblclick: () => () => (latest.current.setZoom(null), null) },
    },
    series: [{}, ...series.map((line) => lineOptions(line, color(line.color)))],
    hooks: {
      draw: [(plot) => drawIntervals(plot, latest.current.series, color)],
      setSelect: [(plot) => zoomToSelection(plot, latest)],
      setCursor: [
        ({ cursor: { idx, left = -1 }, over }) =>
          setCursor(
            idx === null || idx === undefined || left < 0
              ? null
              : { index: idx, left: (left + over.offsetLeft) / over.parentElement!.clientWidth },
          ),
      ],
    },
  };
}

/** A selection of less than two pixels is a click. */
function zoomToSelection(plot: uPlot, latest: Latest): void {
  const { left, width } = plot.select;
  if (width < 2) return;
  latest.current.setZoom([plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x')]);
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
}

const STEP_TICKS: uPlot.Axis = { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000, 20_000] };
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });
const COUNT_TICKS: uPlot.Axis = {
  space: 60,
  values: (_, ticks) => ticks.map((tick) => COMPACT.format(tick)),
};

const DAY_SECONDS = 86_400;
const TIME_TICKS: uPlot.Axis = {
  space: 64,
  values: (_, ticks, _axis, _space, step) => ticks.map((at) => tick(at, step)),
};

/** By the name of the axis. */
const TICKS: Record<string, uPlot.Axis> = {
  steps: STEP_TICKS,
  time: TIME_TICKS,
  hours: {},
  tokens: COUNT_TICKS,
  episodes: COUNT_TICKS,
};

function tick(at: number, step: number): string {
  const date = new Date(at * 1_000);
  if (step >= DAY_SECONDS) return date.toLocaleDateString('en', { day: 'numeric', month: 'short' });
  return time(date, step < 60);
}

/** @param isNamed whether the axis is named, too */
function placeText(x: ChartX, at: number, isNamed = true): string {
  if (x === 'time') return moment(at);
  const text = x === 'hours' ? number(at) : count(at);
  return isNamed ? `${x} ${text}` : text;
}

function moment(at: number): string {
  return time(new Date(at * 1_000), true);
}

function lineOptions(line: ChartSeries, stroke: string): uPlot.Series {
  const points = line.low !== undefined;
  return {
    stroke: line.faint === true ? `${stroke}55` : stroke,
    width: line.faint === true ? 1 : 2,
    spanGaps: true,
    paths: points ? () => null : undefined,
    points: points ? { show: true, size: 8, fill: stroke, stroke } : { show: line.x.length < 2, size: 5 },
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

function logRange(low: number | null, high: number | null): uPlot.Range.MinMax {
  return low === null || high === null || low <= 0 ? [0.1, 1] : uPlot.rangeLog(low, high, 10, false);
}

function logTick(unit: Unit, value: number | null): string {
  if (value === null) return '';
  if (unit === 'share') return `${Number((value * 100).toPrecision(1))} %`;
  return value < 1e-3 ? value.toExponential(0) : String(Number(value.toPrecision(1)));
}

function drawIntervals(plot: uPlot, series: ChartSeries[], color: (name: string) => string): void {
  const { ctx } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(plot.bbox.left, plot.bbox.top, plot.bbox.width, plot.bbox.height);
  ctx.clip();
  ctx.lineWidth = 2 * devicePixelRatio;
  for (const line of series) {
    if (line.low === undefined || line.high === undefined) continue;
    ctx.strokeStyle = color(line.color);
    ctx.beginPath();
    line.x.forEach((x, index) => {
      const at = plot.valToPos(x, 'x', true);
      const cap = 4 * devicePixelRatio;
      // A logarithmic axis has no place for 0.
      const lowest = plot.scales.y.min ?? 0;
      const ends = [line.low![index], line.high![index]].map((value) =>
        plot.valToPos(Math.max(value, lowest), 'y', true),
      );
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

import { useParam } from './route';
import type { ChartX } from './chart';

/** How charts over steps are drawn, kept in the address. */
export interface ChartSettings {
  over: Over;
  /** Number of values of which a line is the moving average. */
  smoothing: number;
  /** Whether y is logarithmic. */
  isLog: boolean;
}

const OVER = {
  '': 'step',
  time: 'time',
  tokens: 'trained tokens',
  episodes: 'trained episodes',
} as const;
type Over = keyof typeof OVER;

const DEFAULT_SMOOTHING = 5;
const MAX_SMOOTHING = 50;

export function useChartSettings(): ChartSettings {
  const [over] = useParam('x');
  const [smoothing] = useParam('smooth');
  const [log] = useParam('log');
  return {
    over: over in OVER ? (over as Over) : '',
    smoothing: Math.min(Math.max(Math.round(Number(smoothing) || DEFAULT_SMOOTHING), 1), MAX_SMOOTHING),
    isLog: log !== '',
  };
}

/** Columns of steps that give their place on an axis. */
export interface StepPlaces {
  step: number[];
  at: number[];
  tokens: number[];
  episodes: number[];
}

/** Places of steps on the chosen axis. */
export function placesOf(steps: StepPlaces, { over }: ChartSettings): { x: number[]; name: ChartX } {
  if (over === 'time') return { x: steps.at, name: 'time' };
  if (over === 'tokens') return { x: steps.tokens, name: 'trained tokens' };
  if (over === 'episodes') return { x: steps.episodes, name: 'trained episodes' };
  return { x: steps.step, name: 'training step' };
}

/** Chooses the axis, the smoothing and the scale of all charts of the page. */
export function ChartControls() {
  const { over, smoothing, isLog } = useChartSettings();
  const [, setOver] = useParam('x');
  const [, setSmoothing] = useParam('smooth');
  const [, setLog] = useParam('log');
  return (
    <div className="controls chart-controls" role="group" aria-label="Charts">
      <label>
        Over{' '}
        <select value={over} onChange={(event) => setOver(event.currentTarget.value)}>
          {Object.entries(OVER).map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        Smoothing{' '}
        <input
          type="range"
          min={1}
          max={MAX_SMOOTHING}
          value={smoothing}
          aria-valuetext={smoothingText(smoothing)}
          onChange={({ currentTarget: { value } }) =>
            setSmoothing(Number(value) === DEFAULT_SMOOTHING ? '' : value)
          }
        />
        <output>{smoothingText(smoothing)}</output>
      </label>
      <label>
        <input
          type="checkbox"
          checked={isLog}
          onChange={(event) => setLog(event.currentTarget.checked ? '1' : '')}
        />{' '}
        Logarithmic
      </label>
    </div>
  );
}

export function smoothingText(smoothing: number): string {
  return smoothing === 1 ? 'none' : `mean of ${smoothing}`;
}

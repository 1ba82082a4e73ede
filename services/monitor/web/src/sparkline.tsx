import { percent } from './format';

const [WIDTH, HEIGHT, MARGIN] = [88, 22, 2];

/** Success in training over the steps of a run, from 0 to 100 %. */
export function Sparkline({ rates }: { rates: readonly number[] }) {
  if (rates.length === 0) return <span className="muted">–</span>;
  const [first, last] = [rates[0], rates[rates.length - 1]];
  const words = `Success in training: ${percent(first)} at first, ${percent(last)} now`;
  const x = (index: number) => MARGIN + (index / Math.max(1, rates.length - 1)) * (WIDTH - 2 * MARGIN);
  const y = (rate: number) => HEIGHT - MARGIN - rate * (HEIGHT - 2 * MARGIN);
  return (
    <span className="sparkline" title={words}>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} role="img" aria-label={words}>
        <path className="track" d={`M0 ${HEIGHT - 0.5}H${WIDTH}`} />
        <polyline
          points={rates.map((rate, index) => `${x(index).toFixed(1)},${y(rate).toFixed(1)}`).join(' ')}
        />
        <circle cx={x(rates.length - 1)} cy={y(last)} r={MARGIN} />
      </svg>
      {percent(last)}
    </span>
  );
}

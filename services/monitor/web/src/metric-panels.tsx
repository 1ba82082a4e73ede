import type { MetricInfo } from '@ui-rl/contracts';
import type { StepCurves } from '@ui-rl/records';
import { useId, useMemo, useState } from 'preact/compat';
import { useApi } from './api';
import { Chart } from './chart';
import { placesOf, smoothingText, useChartSettings } from './chart-settings';
import { number, smooth } from './format';
import { FIRST_PINNED, NONE_PINNED, pinnedIn, runPath } from './reads';
import { useParam } from './route';
import { Card, Empty } from './ui';

/** Number of metrics that a search lists. */
const LISTED = 8;

/** Names of the pinned metrics, kept in the address. */
export function usePinned(): { names: string[]; pin: (names: string[]) => void } {
  const [text, set] = useParam('metrics');
  const names = useMemo(() => pinnedIn(text), [text]);
  const pin = (next: string[]) =>
    set(
      next.length === 0
        ? NONE_PINNED
        : next.join() === FIRST_PINNED.join()
          ? ''
          : next.map(encodeURIComponent).join(','),
    );
  return { names, pin };
}

/** A panel for each pinned metric, and a search that pins others. */
export function MetricPanels({ run, steps }: { run: string; steps: StepCurves }) {
  const { names, pin } = usePinned();
  const { data } = useApi<MetricInfo[]>(`${runPath(run)}/metrics`, steps.step.length === 0 ? 0 : 1);
  const about = new Map((data ?? []).map((each) => [each.name, each]));
  return (
    <>
      <MetricSearch metrics={data ?? []} pinned={names} pin={(name) => pin([...names, name])} />
      <div className="charts panels">
        {names
          .filter((name) => name in steps.metrics || !FIRST_PINNED.includes(name))
          .map((name) => (
            <MetricPanel
              key={name}
              name={name}
              steps={steps}
              about={about.get(name)}
              unpin={() => pin(names.filter((each) => each !== name))}
            />
          ))}
      </div>
    </>
  );
}

interface SearchProps {
  metrics: MetricInfo[];
  pinned: string[];
  pin: (name: string) => void;
}

/** Finds metrics by their names and meanings. */
function MetricSearch({ metrics, pinned, pin }: SearchProps) {
  const [search, setSearch] = useState('');
  const note = useId();
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = metrics.filter(
    ({ name, meaning }) =>
      !pinned.includes(name) && words.every((word) => `${name} ${meaning}`.toLowerCase().includes(word)),
  );
  return (
    <Card
      title="Metrics of the steps"
      aside={
        <input
          type="search"
          aria-label="Search metrics"
          aria-describedby={note}
          placeholder="Search all metrics"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
      }
    >
      <p className="note" id={note} role="status">
        {metrics.length === 0 && 'No training step yet.'}
        {metrics.length > 0 &&
          search === '' &&
          `${metrics.length} metrics. Type a part of a name or meaning.`}
        {search !== '' &&
          `${found.length} found${found.length > LISTED ? `, the first ${LISTED} of them here` : ''}`}
      </p>
      {search !== '' && (
        <ul className="found-metrics">
          {found.slice(0, LISTED).map(({ name, meaning, unit }) => (
            <li key={name}>
              <button type="button" onClick={() => pin(name)}>
                Pin {name}
              </button>{' '}
              <span className="muted">
                {meaning}
                {unit !== '' && ` (${unit})`}
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

interface PanelProps {
  name: string;
  steps: StepCurves;
  about: MetricInfo | undefined;
  unpin: () => void;
}

const format = (value: number) => number(value, 3);

function MetricPanel({ name, steps, about, unpin }: PanelProps) {
  const settings = useChartSettings();
  const { over, smoothing } = settings;
  const values = steps.metrics[name];
  const series = useMemo(() => {
    if (values === undefined) return [];
    const { x } = placesOf(steps, settings);
    if (smoothing === 1) return [{ label: 'per step', color: '--series-3', x, y: values }];
    return [
      { label: 'per step', color: '--series-3', x, y: values, faint: true },
      { label: smoothingText(smoothing), color: '--series-3', x, y: smooth(values, smoothing) },
    ];
  }, [steps, values, over, smoothing]);
  return (
    <Card
      title={name}
      aside={
        <button type="button" aria-label={`Unpin ${name}`} onClick={unpin}>
          Unpin
        </button>
      }
    >
      {about !== undefined && about.meaning !== '' && <p className="note meaning">{about.meaning}</p>}
      {series.length === 0 ? (
        <Empty>No step of this run has this metric.</Empty>
      ) : (
        <Chart
          title={name}
          series={series}
          x={placesOf(steps, settings).name}
          y={about === undefined || about.unit === '' ? name : about.unit}
          unit="number"
          isLog={settings.isLog}
          format={format}
        />
      )}
    </Card>
  );
}

import type { DifferingOption } from '@ui-rl/records';
import { Fragment, type ReactNode, useState } from 'preact/compat';
import { fetchJson, useLoaded, useVersion } from './api';
import { shownValue } from './configuration-view';
import { count } from './format';
import { useParam } from './route';
import { Empty, Problem } from './ui';

/** The monitor compares at most this many runs. */
export const MAX_COMPARED = 200;

export interface RunColumns {
  /** Chosen options that differ, in the order of the address. */
  columns: DifferingOption[];
  /** Opens the panel. */
  button: ReactNode;
  /** The choice of options. */
  panel: ReactNode;
}

/**
 * Columns for options whose values differ between the listed runs; the address keeps which.
 *
 * @param query the parameters of the list
 * @param runs ids of the listed runs
 */
export function useRunColumns(query: URLSearchParams, runs: readonly string[]): RunColumns {
  const [kept, keep] = useParam('columns');
  const [isOpen, open] = useState(false);
  const chosen = kept === '' ? [] : kept.split(',');
  const isNeeded = (isOpen || chosen.length > 0) && runs.length > 1;
  // Another set of runs has other differences.
  const key = isNeeded ? `differences ${runs.join()}` : 'no differences';
  const { data, error } = useLoaded(key, useVersion(null, 30_000), async (signal) =>
    isNeeded ? fetchJson<DifferingOption[]>(`api/run-differences?${query.toString()}`, signal) : null,
  );
  const differing = data ?? [];
  const columns = chosen.flatMap((each) => differing.find((option) => option.path === each) ?? []);
  const toggle = (option: string) => {
    const next = chosen.includes(option) ? chosen.filter((each) => each !== option) : [...chosen, option];
    keep(next.join());
  };
  const button = (
    <button type="button" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
      Columns
    </button>
  );
  const panel = isOpen && (
    <div className="columns-chooser" role="group" aria-label="Columns">
      <Problem error={error} />
      {runs.length < 2 && <Empty>Two runs or more can differ.</Empty>}
      {data?.length === 0 && <Empty>These runs have the same configuration.</Empty>}
      {differing.length > 0 && (
        <p className="note">
          Options that differ between{' '}
          {runs.length > MAX_COMPARED ? `the first ${MAX_COMPARED}` : 'the listed'} runs:{' '}
          {count(differing.length)}. Choose columns.
        </p>
      )}
      {differing.map((option) => (
        <label key={option.path}>
          <input
            type="checkbox"
            checked={chosen.includes(option.path)}
            onChange={() => toggle(option.path)}
          />
          <code>{option.path}</code>
        </label>
      ))}
    </div>
  );
  return { columns, button, panel };
}

/** The path of an option, which may break after its dots. */
export function OptionPath({ path }: { path: string }) {
  return path.split('.').map((part, index) => (
    <Fragment key={index}>
      {index > 0 && (
        <>
          .<wbr />
        </>
      )}
      {part}
    </Fragment>
  ));
}

/** The value of an option in a run. */
export function OptionValue({ option, run }: { option: DifferingOption; run: string }) {
  if (!Object.hasOwn(option.values, run)) return <span className="muted">not set</span>;
  const text = shownValue(option.values[run]);
  return <code title={text}>{text.length > 40 ? `${text.slice(0, 39)}…` : text}</code>;
}

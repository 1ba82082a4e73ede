import type { EpisodeSort, FailedCheck, SortOrder } from '@ui-rl/records';
import { type ChangeEvent, useEffect, useState } from 'preact/compat';
import { useApi, useVersion } from './api';
import { count } from './format';
import { type EpisodeFilter, FILTERS, isFiltered } from './episode-query';
import { useParam, useParams } from './route';
import { runPath } from './reads';

type Name = keyof EpisodeFilter;

const PURPOSES = { '': 'Every purpose', train: 'Training', eval: 'Evaluation', baseline: 'Baseline' };

const RESULTS = {
  '': 'Every result',
  yes: 'Success',
  no: 'Failure',
  unknown: 'Not judged',
  truncated: 'Truncated',
  invalid: 'Invalid',
};

const ANSWERS = { '': 'Every answer', yes: 'With parse failures', no: 'Without parse failures' };

const SORTS: Partial<Record<`${EpisodeSort} ${SortOrder}` | '', string>> = {
  '': 'Latest first',
  'ended asc': 'Oldest first',
  'reward desc': 'Highest reward first',
  'reward asc': 'Lowest reward first',
  'turns desc': 'Most turns first',
  'turns asc': 'Fewest turns first',
  'tokens desc': 'Most tokens first',
  'duration desc': 'Longest first',
};

/** The chosen filters, kept in the address. */
export function useEpisodeFilter(): EpisodeFilter {
  return useParams(FILTERS);
}

export function EpisodeFilters({ run }: { run: string }) {
  const hasMore = isFiltered({ ...useEpisodeFilter(), purpose: '', result: '', task: '', taskId: '' });
  const [isOpen, open] = useState(hasMore);
  return (
    <div className="filters">
      <Choice name="purpose" label="Purpose" options={PURPOSES} />
      <Choice name="result" label="Result" options={RESULTS} />
      <Typed name="task" label="Task" type="search" placeholder="Task or goal" />
      <Choice name="sort" label="Order" options={SORTS} />
      <ExactTask />
      <button type="button" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
        More filters
      </button>
      {isOpen && (
        <div className="filters more-filters" role="group" aria-label="More filters">
          <Choice name="answers" label="Answers" options={ANSWERS} />
          <FailedCheckChoice run={run} />
          <Typed name="step" label="Trained in step" type="number" />
          <Range label="Reward" from="minReward" to="maxReward" />
          <Range label="Turns" from="minTurns" to="maxTurns" />
          <Range label="Policy" from="minVersion" to="maxVersion" />
        </div>
      )}
    </div>
  );
}

/** The one task to which a link has limited the list. */
function ExactTask() {
  const [taskId, set] = useParam('taskId');
  if (taskId === '') return null;
  return (
    <button type="button" aria-label={`Show all tasks, not only ${taskId}`} onClick={() => set('')}>
      Task {taskId} ✕
    </button>
  );
}

/** The checks that failed in episodes of the run. */
function FailedCheckChoice({ run }: { run: string }) {
  const [chosen] = useParam('failedCheck');
  const path = `${runPath(run)}/failed-checks`;
  const { data } = useApi<FailedCheck[]>(path, useVersion(run, 10_000));
  const options = new Map([['', 'Every check'], ...(chosen === '' ? [] : [[chosen, chosen] as const])]);
  for (const { text, episodes } of data ?? []) options.set(text, `${text} (${count(episodes)})`);
  return <Choice name="failedCheck" label="Failed check" options={Object.fromEntries(options)} />;
}

interface ChoiceProps {
  name: string;
  label: string;
  options: Record<string, string>;
}

/** A choice that the address keeps. */
export function Choice({ name, label, options }: ChoiceProps) {
  const [value, set] = useParam(name);
  return (
    <select aria-label={label} value={value} onChange={(event) => set(event.currentTarget.value)}>
      {Object.entries(options).map(([option, text]) => (
        <option key={option} value={option}>
          {text}
        </option>
      ))}
    </select>
  );
}

function Range({ label, from, to }: { label: string; from: Name; to: Name }) {
  return (
    <span className="range">
      <Typed name={from} label={`${label} from`} type="number" />
      <Typed name={to} label="to" describedAs={`${label} up to`} type="number" />
    </span>
  );
}

interface TypedProps {
  name: Name;
  label: string;
  /** For screen readers, if the label needs its neighbour. */
  describedAs?: string;
  type: 'search' | 'number';
  placeholder?: string;
}

const TYPING_MS = 250;

/** A text that the address keeps once it is typed. */
function Typed({ name, label, describedAs = label, type, placeholder }: TypedProps) {
  const [kept, keep] = useParam(name);
  const [typed, setTyped] = useState(kept);
  useEffect(() => setTyped(kept), [kept]);
  useEffect(() => {
    if (typed === kept) return undefined;
    const timer = setTimeout(() => keep(typed), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, kept, keep]);
  const shared = { 'aria-label': describedAs, placeholder, value: typed };
  const onChange = (event: ChangeEvent<HTMLInputElement>) => setTyped(event.currentTarget.value);
  if (type === 'search') return <input type="search" {...shared} onChange={onChange} />;
  return (
    <label className="muted">
      {label} <input type="number" step="any" {...shared} onChange={onChange} />
    </label>
  );
}

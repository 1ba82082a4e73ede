import type { ConfigurationGroup, ConfiguredOption } from '@ui-rl/contracts';
import type { RunDetail } from '@ui-rl/records';
import { useState } from 'preact/compat';
import { useApi } from './api';
import { count } from './format';
import { Card, Empty, Problem } from './ui';
import { runPath } from './reads';

interface Filter {
  text: string;
  onlyDiffering: boolean;
}

/** The run's configuration: every option with its help and its default. */
export function ConfigurationView({ run }: { run: RunDetail }) {
  const path = `${runPath(run.id)}/configuration`;
  // It arrives once and does not change.
  const version = Object.keys(run.config).length === 0 ? 0 : 1;
  const { data: groups, error } = useApi<ConfigurationGroup[]>(path, version);
  const [filter, setFilter] = useState<Filter>({ text: '', onlyDiffering: false });
  if (groups === null) return <Problem error={error} />;
  if (groups.length === 0) return <Empty>The run file did not arrive yet.</Empty>;
  const shown = groups
    .map((group) => ({ ...group, options: optionsShown(group.options, filter) }))
    .filter(({ options }) => options.length > 0);
  return (
    <>
      <Problem error={error} />
      <Filters filter={filter} onChange={setFilter} groups={groups} />
      {shown.length === 0 && <Empty>No option passes this filter.</Empty>}
      <div className="configuration">
        {shown.map((group) => (
          <Group key={group.path} group={group} />
        ))}
      </div>
    </>
  );
}

function Filters({
  filter,
  onChange,
  groups,
}: {
  filter: Filter;
  onChange: (filter: Filter) => void;
  groups: ConfigurationGroup[];
}) {
  const options = groups.flatMap((group) => group.options);
  const differing = options.filter(({ differs }) => differs).length;
  return (
    <div className="filters">
      <label className="check">
        <input
          type="checkbox"
          checked={filter.onlyDiffering}
          onChange={({ currentTarget }) => onChange({ ...filter, onlyDiffering: currentTarget.checked })}
        />
        Only what differs from its default
        <span className="muted">
          {count(differing)} of {count(options.length)}
        </span>
      </label>
      <input
        type="search"
        placeholder="Option, value or help"
        aria-label="Search"
        value={filter.text}
        onChange={({ currentTarget }) => onChange({ ...filter, text: currentTarget.value })}
      />
    </div>
  );
}

/** The options that match the filter, and the choices to which they belong. */
function optionsShown(options: ConfiguredOption[], { text, onlyDiffering }: Filter): ConfiguredOption[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const passing = options.filter((option) => {
    if (onlyDiffering && !option.differs) return false;
    const about = [option.path, option.doc, option.component, shownValue(option.value)]
      .join(' ')
      .toLowerCase();
    return words.every((word) => about.includes(word));
  });
  const choices = new Set(passing.map(({ choice }) => choice));
  const kept = new Set(passing);
  return options.filter((option) => kept.has(option) || choices.has(option.path));
}

function Group({ group: { path, doc, options } }: { group: ConfigurationGroup }) {
  return (
    <Card title={path === '' ? 'run' : path} aside={<span className="muted">{doc}</span>}>
      <dl className="options">
        {options.map((option) => (
          <Option key={option.path} option={option} group={path} />
        ))}
      </dl>
    </Card>
  );
}

function Option({ option, group }: { option: ConfiguredOption; group: string }) {
  const { path, doc, expected, value, differs, component, choice, ineffective } = option;
  const parts = ['option', differs && 'differs', choice && 'inner', ineffective && 'ineffective'];
  return (
    <div className={parts.filter(Boolean).join(' ')} title={[path, doc, expected].filter(Boolean).join('\n')}>
      <dt>
        <code>{nameOf(path, choice ?? group)}</code>
        <small className="muted">{component ?? (doc || 'described by no component')}</small>
      </dt>
      <dd>
        <code className={value === undefined ? 'muted' : undefined}>
          {value === undefined ? 'not set' : shownValue(value)}
        </code>
        {differs && <small className="muted">{defaultText(option)}</small>}
        {ineffective !== undefined && <small className="muted">no effect: {ineffective}</small>}
      </dd>
    </div>
  );
}

/** Within its group, or after its choice. */
function nameOf(path: string, parent: string): string {
  return path.startsWith(`${parent}.`) ? path.slice(parent.length + 1) : path;
}

function defaultText({ default: usual, expected }: ConfiguredOption): string {
  if (usual !== undefined) return `default ${shownValue(usual)}`;
  return expected === '' ? '' : 'no default';
}

/** A value in a run file's words, on one line. */
export function shownValue(value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  const scalars = Array.isArray(value) && value.length > 0 && value.every((each) => typeof each !== 'object');
  return scalars ? value.join(', ') : (JSON.stringify(value) ?? '');
}

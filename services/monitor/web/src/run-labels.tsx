import type { RunLabels, RunSummary } from '@ui-rl/records';
import { type FormEvent, useState } from 'preact/compat';
import { patchJson } from './api';
import { links } from './route';
import { Badge, Card, Problem, focused } from './ui';
import { runPath } from './reads';

type Labelled = Pick<RunSummary, 'id' | keyof RunLabels>;

/** The name that people gave a run; its id without one. */
export function titleOf({ id, name }: Pick<Labelled, 'id' | 'name'>): string {
  return name === '' ? id : name;
}

/** The tags of a run, each of which finds the others that have it; and whether it is archived. */
export function RunTags({ run: { tags, archived } }: { run: Labelled }) {
  if (tags.length === 0 && !archived) return null;
  return (
    <span className="tags">
      {archived && <Badge title="left out of lists">archived</Badge>}
      {tags.map((tag) => (
        <a key={tag} className="tag" href={links.runsWith(tag)}>
          {tag}
        </a>
      ))}
    </span>
  );
}

interface RunEditorProps {
  run: Labelled;
  /** Called once the monitor has stored the changes. */
  onSaved: () => void;
  onCancel: () => void;
}

/** A form for the labels of a run. */
export function RunEditor({ run, onSaved, onCancel }: RunEditorProps) {
  const [name, setName] = useState(run.name);
  const [tags, setTags] = useState(run.tags.join(', '));
  const [notes, setNotes] = useState(run.notes);
  const [error, setError] = useState<string | null>(null);
  const save = (changes: Partial<RunLabels>) =>
    patchJson(runPath(run.id), changes).then(onSaved, (problem: unknown) =>
      setError(problem instanceof Error ? problem.message : String(problem)),
    );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void save({ name, notes, tags: listIn(tags) });
  };
  return (
    <Card title="Name, tags and notes">
      <form className="run-editor" onSubmit={submit}>
        <Problem error={error} />
        <label>
          Name
          <input
            ref={focused}
            maxLength={100}
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
          />
        </label>
        <label>
          Tags, separated by commas
          <input value={tags} onChange={({ currentTarget }) => setTags(currentTarget.value)} />
        </label>
        <label className="wide">
          Notes
          <textarea
            rows={5}
            maxLength={10_000}
            value={notes}
            onChange={({ currentTarget }) => setNotes(currentTarget.value)}
          />
        </label>
        <div className="filters wide">
          <button type="submit">Save</button>
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
          <button type="button" className="last" onClick={() => void save({ archived: !run.archived })}>
            {run.archived ? 'Restore from the archive' : 'Archive this run'}
          </button>
        </div>
      </form>
    </Card>
  );
}

function listIn(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

import { useState } from 'preact/compat';
import { Badge, Card, Problem } from '../ui';
import { type Proposal, send } from './live';

/** Proposed checks for the task, from which the user picks. */
export function Proposals({ proposals }: { proposals: readonly Proposal[] }) {
  const usable = proposals.filter(({ refused }) => refused === null);
  const refused = proposals.filter((each) => each.refused !== null);
  const [ids, setIds] = useState(
    () => new Set(usable.filter(({ isLikely }) => isLikely).map(({ id }) => id)),
  );
  const [error, setError] = useState<string | null>(null);
  const change = (id: number, isPicked: boolean) => {
    const changed = new Set(ids);
    if (isPicked) changed.add(id);
    else changed.delete(id);
    setIds(changed);
  };
  const write = () => {
    send('checks', { ids: [...ids] }).catch((problem: Error) => setError(problem.message));
  };
  return (
    <Card title="When is the task done?">
      <p className="note">
        All that you pick has to hold at the end. Each of these holds after what you did, also on a fresh
        page, and not before.
      </p>
      <ul className="proposals">
        {usable.map(({ id, kind, words }) => (
          <li key={id}>
            <label>
              <input
                type="checkbox"
                checked={ids.has(id)}
                onChange={(event) => change(id, event.currentTarget.checked)}
              />
              <Badge>{kind}</Badge>
              <span>{words}</span>
            </label>
          </li>
        ))}
      </ul>
      <Problem error={error} />
      <button type="button" className="primary" disabled={ids.size === 0} onClick={write}>
        Write the task
      </button>
      {refused.length > 0 && (
        <details className="refused">
          <summary>{refused.length} rejected</summary>
          <ul>
            {refused.map(({ id, words, refused: why }) => (
              <li key={id}>
                {words}: <span className="muted">{why}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </Card>
  );
}

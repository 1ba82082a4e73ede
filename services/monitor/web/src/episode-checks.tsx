import type { JudgedCheck, JudgedEpisode } from '@ui-rl/records';
import type { ReactNode } from 'preact/compat';
import { links } from './route';
import { stateChanges } from './state-changes';
import { Card, Empty } from './ui';

/** The checks with their results, and the changes of the state. */
export function EpisodeChecks({ episode }: { episode: JudgedEpisode }) {
  const { checks, initialState, finalState } = episode;
  if (checks.length === 0 && initialState === null && finalState === null) return null;
  return (
    <div className="columns">
      <Card title="Checks">
        {checks.length === 0 ? (
          <Empty>This task has no checks.</Empty>
        ) : (
          <ul className="checks">
            {checks.map((judged, index) => (
              <CheckLine key={index} run={episode.runId} judged={judged} />
            ))}
          </ul>
        )}
      </Card>
      <Card title="Changes of the state">
        <Changes before={initialState} after={finalState} />
        <State title="State at the beginning" state={initialState} />
        <State title="State at the end" state={finalState} />
      </Card>
    </div>
  );
}

function CheckLine({ run, judged: { check, text, holds, found } }: { run: string; judged: JudgedCheck }) {
  const [mark, tone, words] =
    holds === null ? ['?', 'unknown', 'no result'] : holds ? ['✓', 'up', 'held'] : ['✗', 'down', 'failed'];
  return (
    <li>
      <strong className={`mark ${tone}`} role="img" aria-label={words}>
        {mark}
      </strong>
      <div>
        <CheckWords check={check} />
        {found !== null && (
          <small className="muted">
            found <code>{found}</code>
          </small>
        )}
        {holds === false && (
          <small className="muted">
            <a href={links.episodesWith(run, { failedCheck: text })}>episodes that fail it</a>
          </small>
        )}
      </div>
    </li>
  );
}

export function CheckWords({ check }: { check: JudgedCheck['check'] }): ReactNode {
  if (check.kind === undefined || check.kind === 'state') {
    return (
      <>
        <code>{check.path}</code> {check.operator.replaceAll('_', ' ')}{' '}
        <code>{JSON.stringify(check.value)}</code>
      </>
    );
  }
  const { kind, ...fields } = check;
  return (
    <>
      {kind} <code>{JSON.stringify(fields)}</code>
    </>
  );
}

type State = Record<string, unknown> | null;

function Changes({ before, after }: { before: State; after: State }) {
  if (before === null || after === null) return <Empty>The environment reported no state to compare.</Empty>;
  const changes = stateChanges(before, after);
  if (changes.length === 0) return <Empty>The episode has changed nothing.</Empty>;
  return (
    <div className="scroll tall" tabIndex={0} role="group" aria-label="Changes of the state">
      <table className="rows changes">
        <thead>
          <tr>
            <th>Path</th>
            <th>Before</th>
            <th>After</th>
          </tr>
        </thead>
        <tbody>
          {changes.map(({ path, before: old, after: now }) => (
            <tr key={path}>
              <td>
                <code>{path}</code>
              </td>
              <td>
                {old === undefined ? <span className="muted">–</span> : <del>{JSON.stringify(old)}</del>}
              </td>
              <td>
                {now === undefined ? <span className="muted">–</span> : <ins>{JSON.stringify(now)}</ins>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function State({ title, state }: { title: string; state: State }) {
  if (state === null) return null;
  return (
    <details className="screen-text">
      <summary>{title}</summary>
      <pre className="json" tabIndex={0} role="group" aria-label={title}>
        {JSON.stringify(state, null, 2)}
      </pre>
    </details>
  );
}

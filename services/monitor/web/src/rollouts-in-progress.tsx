import type { RolloutInProgress } from '@ui-rl/records';
import { useApi } from './api';
import { EPISODE_PHASES } from './episode-phases';
import { count, duration } from './format';
import { useNow } from './signs-of-life';
import { Badge, Card, Empty, Problem } from './ui';
import { runPath } from './reads';

/** Actors report every 10 s. */
const SILENT_MS = 40_000;

/** The rollouts that actors play at the moment. */
export function RolloutsInProgress({ run, version }: { run: string; version: number }) {
  const path = `${runPath(run)}/in-progress`;
  const { data: rollouts, error } = useApi<RolloutInProgress[]>(path, version);
  const now = useNow();
  return (
    <Card title="Episodes in progress">
      <Problem error={error} />
      {rollouts?.length === 0 && <Empty>None at the moment.</Empty>}
      {rollouts !== null && rollouts.length > 0 && (
        <div className="scroll tall" tabIndex={0} role="group" aria-label="Episodes in progress">
          <table className="rows">
            <thead>
              <tr>
                <th scope="col">Episode</th>
                <th scope="col">Phase</th>
                <th scope="col" className="num">
                  Turns
                </th>
                <th scope="col" className="num">
                  Since
                </th>
                <th scope="col" className="num">
                  Heard of
                </th>
              </tr>
            </thead>
            <tbody>
              {rollouts.map((rollout) => (
                <Row key={rollout.rolloutId} now={now} {...rollout} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <p className="note">Actors report every 10 s on episodes that take longer than that.</p>
    </Card>
  );
}

function Row({
  now,
  rolloutId,
  actor,
  task,
  purpose,
  phase,
  turns,
  maxTurns,
  startedAt,
  heartbeatAt,
}: RolloutInProgress & { now: number }) {
  const heard = Math.max(0, now - Date.parse(heartbeatAt ?? startedAt));
  return (
    <tr>
      <th scope="row">
        {task ?? rolloutId}
        <small className="muted">
          {task !== null && `${rolloutId}, `}
          {purpose !== null && `${purpose}, `}
          {actor}
        </small>
      </th>
      <td>{EPISODE_PHASES.find((each) => each.phase === phase)?.words ?? 'has begun'}</td>
      <td className="num">
        {turns === null || maxTurns === null ? '–' : `${count(turns)} of ${count(maxTurns)}`}
      </td>
      <td className="num">{duration(Math.max(0, now - Date.parse(startedAt)))}</td>
      <td className="num">
        {heard > SILENT_MS && <Badge tone="warn">silent</Badge>} {duration(heard)} ago
      </td>
    </tr>
  );
}

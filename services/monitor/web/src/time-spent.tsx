import type { RunProfile } from '@ui-rl/contracts';
import type { Staleness } from '@ui-rl/records';
import type { CSSProperties } from 'preact/compat';
import { count, duration, number, percent, plural } from './format';
import { Card, Empty } from './ui';

/** A part of a whole; null if it is unknown. `text` in place of the share in percent. */
type Part = [name: string, share: number | null, text?: string];

/** Where a run's training spent its time. */
export function TimeCard({ profile }: { profile: RunProfile | null }) {
  if (profile === null)
    return (
      <Card title="Where the time went">
        <Empty>No step has recorded its times.</Empty>
      </Card>
    );
  const { steps, seconds, episodesPerMinute, trainer, places, sessionsIdle, turn } = profile;
  return (
    <Card title="Where the time went">
      <p className="note">
        {plural(steps, 'step')} in {duration(seconds * 1_000)}, {number(episodesPerMinute, 0)} trained
        episodes a minute. A turn: policy {timeOf(turn.policy)}, environment {timeOf(turn.environment)}.
      </p>
      <Shares
        title="Learner"
        parts={[
          ['waits for episodes', trainer.waiting],
          ['trains', trainer.training],
          ['saves and serves weights', trainer.checkpoint],
        ]}
      />
      <Shares
        title="Episode slots"
        parts={[
          ['wait for the environment', places.environment],
          ['wait for the policy', places.policy],
          ['free', places.free],
        ]}
      />
      <Shares
        title="Open sessions"
        parts={[
          ['idle', sessionsIdle],
          ['in use', (sessionsIdle as number | null) === null ? null : 1 - sessionsIdle],
        ]}
      />
    </Card>
  );
}

function timeOf(value: number | null): string {
  return value === null ? '–' : duration(value * 1_000);
}

/** Shares of a whole as a bar with a legend. */
export function Shares({ title, parts }: { title: string; parts: Part[] }) {
  return (
    <div className="shares">
      <strong>{title}</strong>
      <div className="share-bar" aria-hidden="true">
        {parts.map(([name, share]) => (
          <i key={name} style={{ '--share': share ?? 0 } as CSSProperties} />
        ))}
      </div>
      <ul>
        {parts.map(([name, share, text = percent(share)]) => (
          <li key={name}>
            <i aria-hidden="true" /> {name} <strong>{text}</strong>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** How old the policies were whose tokens the latest step trained. */
export function StalenessCard({
  staleness,
  config,
}: {
  staleness: Staleness | null;
  config: Record<string, unknown>;
}) {
  const { max_steps_off_policy: limit } = (config.async ?? {}) as { max_steps_off_policy?: number };
  if (staleness === null)
    return (
      <Card title="Staleness">
        <Empty>No step has recorded its policy versions.</Empty>
      </Card>
    );
  const { step, mean, shares, tokensMasked, groupsTooOld, stragglers } = staleness;
  const most = Math.max(...shares.map(({ share }) => share), 0);
  return (
    <Card title="Staleness">
      <p className="note">
        The tokens of step {count(step)} were sampled {number(mean)} steps earlier on average
        {limit === undefined ? '' : `; async.max_steps_off_policy allows ${count(limit)}`}.
      </p>
      <table className="rows lags">
        <thead>
          <tr>
            <th scope="col">Steps earlier</th>
            <th scope="col">Share of tokens</th>
          </tr>
        </thead>
        <tbody>
          {shares.map(({ lag, share }) => (
            <tr key={lag}>
              <th scope="row">{count(lag)}</th>
              <td>
                <span className="lag" style={{ '--share': most === 0 ? 0 : share / most } as CSSProperties} />
                {percent(share)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="note">
        {plural(tokensMasked, 'token')} left out and {plural(groupsTooOld, 'group')} given up because of their
        age; {plural(stragglers, 'slow episode')} replaced.
      </p>
    </Card>
  );
}

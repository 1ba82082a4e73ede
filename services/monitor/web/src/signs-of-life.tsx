import type { RunDetail } from '@ui-rl/records';
import { useEffect, useState } from 'preact/compat';
import { clock, count, day, duration, plural } from './format';
import { links } from './route';
import { isOver } from './run-kind';

/** Within this time without any record, a run counts as active. */
const QUIET_MS = 120_000;
const DAY_MS = 86_400_000;

/** Says of a run that does not end and records nothing what it waits for, and when each service last did something. */
export function SignsOfLife({ run }: { run: RunDetail }) {
  const now = useNow();
  const last = run.services[0]?.at ?? run.phaseSince ?? run.createdAt;
  if (isOver(run) || run.phase === null) return null;
  if (run.pausedSince !== null) return <Paused since={run.pausedSince} run={run} />;
  const quiet = now - Date.parse(last);
  if (quiet < QUIET_MS) return null;
  return (
    <section className="quiet" aria-label="Signs of life">
      <p>
        <strong>No sign of life for {duration(quiet)}.</strong> {waitsFor(run)}
      </p>
      <ul>
        {run.services.map(({ service, at, sign }) => (
          <li key={service}>
            <strong>{service}</strong> {sign}{' '}
            <span className="muted">{now - Date.parse(at) < DAY_MS ? clock(at) : day(at)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Paused({ since, run }: { since: string; run: RunDetail }) {
  const reason = run.pauseReason === null ? '' : ` (${run.pauseReason})`;
  return (
    <section className="quiet" aria-label="Pause">
      <p>
        <strong>
          Paused since {day(since)}
          {reason}.
        </strong>{' '}
        {run.inProgress > 0 && `Still in progress: ${plural(run.inProgress, 'episode')}. `}
        <a href={links.run(run.id, 'health')}>Continue it on the Health page</a>, or with{' '}
        <code>ui-rl runs continue {run.id}</code>.
      </p>
    </section>
  );
}

export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 5_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** The event that the run needs next. */
function waitsFor(run: RunDetail): string {
  if (run.services.length === 0) return 'No service has joined the run: start them with npx ui-rl up.';
  if (run.phase !== 'training')
    return `The run waits for episodes of its evaluation (${count(run.inProgress)} in progress): check the actors, the environments and the learner, which samples.`;
  const wanted = batchSize(run.config);
  if (wanted !== null && run.untrained >= wanted)
    return `The run waits for the learner: ${count(run.untrained)} episodes since the last step are enough for a batch of ${count(wanted)}. Check the learner and its log.`;
  const had = `${count(run.untrained)}${wanted === null ? '' : ` of ${count(wanted)}`} since the last step, ${count(run.inProgress)} in progress`;
  return `The run waits for training episodes (${had}): check the actors, the environments and the learner, which samples.`;
}

/** Episodes of a batch; null if the run file is unknown. */
function batchSize(config: Record<string, unknown>): number | null {
  const { rollout, training } = config as Record<string, Record<string, unknown> | undefined>;
  const [size, groups] = [rollout?.group_size, training?.groups_per_batch];
  return typeof size === 'number' && typeof groups === 'number' ? size * groups : null;
}

import type { RunDetail } from '@ui-rl/records';
import { type FormEvent, useState } from 'preact/compat';
import { putJson } from './api';
import { Card, Problem, focused } from './ui';
import { runPath } from './reads';

type Order = 'pause' | 'continue' | 'stop';

const EFFECTS: Record<Order, string> = {
  pause: 'Episodes in progress end, and others do not start until you continue the run.',
  continue: 'Actors start episodes again.',
  stop: 'Its services finish their current work and leave the run. You cannot continue it; its checkpoints stay.',
};
const NAMES: Record<Order, string> = {
  pause: 'Pause the run',
  continue: 'Continue the run',
  stop: 'Stop the run for good',
};

/** Pauses, continues and stops a run, each after a second click. */
export function RunControls({ run, hasBroker }: { run: RunDetail; hasBroker: boolean }) {
  const [order, setOrder] = useState<Order | null>(null);
  if (!hasBroker) return null;
  const offered: Order[] = [run.pausedSince === null ? 'pause' : 'continue', 'stop'];
  return (
    <Card title="Control">
      {order === null ? (
        <div className="filters">
          {offered.map((each) => (
            <button key={each} type="button" onClick={() => setOrder(each)}>
              {NAMES[each]}
            </button>
          ))}
          <span className="muted">{run.pausedSince === null ? 'It runs.' : 'It is paused.'}</span>
        </div>
      ) : (
        <OrderForm key={order} run={run.id} order={order} onDone={() => setOrder(null)} />
      )}
    </Card>
  );
}

function OrderForm({ run, order, onDone }: { run: string; order: Order; onDone: () => void }) {
  const [reason, setReason] = useState('');
  const [error, setError] = useState<string | null>(null);
  const [isSent, setSent] = useState(false);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setSent(true);
    const said = reason.trim() === '' ? {} : { reason: reason.trim() };
    void putJson(`${runPath(run)}/control`, { order, ...said }).then(onDone, (problem: unknown) => {
      setSent(false);
      setError(problem instanceof Error ? problem.message : String(problem));
    });
  };
  return (
    <form className="order" onSubmit={submit}>
      <Problem error={error} />
      <p className="note">{EFFECTS[order]}</p>
      <div className="filters">
        <label>
          Reason{' '}
          <input
            ref={focused}
            maxLength={500}
            placeholder="optional"
            value={reason}
            onChange={({ currentTarget }) => setReason(currentTarget.value)}
          />
        </label>
        <button type="submit" disabled={isSent}>
          {NAMES[order]}
        </button>
        <button type="button" onClick={onDone}>
          Cancel
        </button>
      </div>
    </form>
  );
}

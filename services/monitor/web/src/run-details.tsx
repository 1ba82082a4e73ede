import type { LogEntry, RunDetail } from '@ui-rl/records';
import { clock, count } from './format';
import { Badge, Card, Empty, type Tone } from './ui';

export function RunDetails({ run }: { run: RunDetail }) {
  return (
    <div className="columns">
      <Card title="Log">
        {run.log.length === 0 ? <Empty>Nothing was logged.</Empty> : <Log entries={run.log} />}
      </Card>
      <Card title="Checkpoints">
        {run.checkpoints.length === 0 ? <Empty>None yet.</Empty> : <Checkpoints run={run} />}
      </Card>
    </div>
  );
}

const TONES: Record<string, Tone> = {
  phase: 'info',
  pause: 'info',
  service_ready: 'plain',
  warning: 'warn',
  dead_letter: 'bad',
};

function Log({ entries }: { entries: LogEntry[] }) {
  return (
    <div className="scroll tall" tabIndex={0} role="group" aria-label="Log">
      <table className="rows">
        <tbody>
          {entries.map((entry, index) => (
            <tr key={index}>
              <td className="muted">{clock(entry.at)}</td>
              <td>
                <Badge tone={TONES[entry.type]}>{entry.type.replace('_', ' ')}</Badge>
              </td>
              <td>{logText(entry)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function logText({ type, data }: LogEntry): string {
  const text = (name: string) => (typeof data[name] === 'string' ? data[name] : '');
  if (type === 'phase') return [text('phase'), text('reason')].filter(Boolean).join(': ');
  if (type === 'pause')
    return [data.paused === true ? 'paused' : 'continued', text('reason')].filter(Boolean).join(': ');
  if (type === 'service_ready') return `${text('service')} ${text('instance')}`;
  if (type === 'warning') return `${text('service')}, ${text('code')}: ${text('message')}`;
  return `${text('service')} could not read ${text('subject')}: ${text('reason')}`;
}

function Checkpoints({ run }: { run: RunDetail }) {
  return (
    <div className="scroll tall" tabIndex={0} role="group" aria-label="Checkpoints">
      <table className="rows">
        <thead>
          <tr>
            <th className="num">Step</th>
            <th>Name and folder</th>
            <th>Saved</th>
          </tr>
        </thead>
        <tbody>
          {run.checkpoints.map((checkpoint) => (
            <tr key={checkpoint.name}>
              <td className="num">{count(checkpoint.step)}</td>
              <td>
                <code>{checkpoint.name}</code>
                <small className="muted">{checkpoint.path}</small>
              </td>
              <td>{clock(checkpoint.at)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

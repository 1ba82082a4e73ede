import type { LogLine } from '@ui-rl/contracts';
import type { LiveService } from '@ui-rl/records';
import { clock } from './format';
import { useParam } from './route';
import { Badge, Card, Empty, type Tone } from './ui';

/** From least to most severe. */
const LEVELS: LogLine['level'][] = ['verbose', 'debug', 'log', 'warn', 'error', 'fatal'];
const TONES: Partial<Record<LogLine['level'], Tone>> = { warn: 'warn', error: 'bad', fatal: 'bad' };

interface Entry extends LogLine {
  service: string;
  instance: string;
}

/** The latest entries of the logs of all services, latest first. */
export function LogTails({ services }: { services: LiveService[] }) {
  const [service, setService] = useParam('service');
  const [level, setLevel] = useParam('level');
  const least = LEVELS.indexOf(level === '' ? 'verbose' : (level as LogLine['level']));
  const entries = services
    .flatMap(({ process, ...own }): Entry[] =>
      (process?.log ?? []).map(({ at, level: severity, context, message }) => ({
        at,
        level: severity,
        context,
        message,
        ...own,
      })),
    )
    .filter((entry) => (service === '' || entry.service === service) && LEVELS.indexOf(entry.level) >= least)
    .toSorted((a, b) => b.at.localeCompare(a.at));
  const names = [...new Set(services.map((each) => each.service))];
  return (
    <Card
      title="Logs of the services"
      aside={
        <div className="filters">
          <select
            aria-label="Service"
            value={service}
            onChange={({ currentTarget }) => setService(currentTarget.value)}
          >
            <option value="">All services</option>
            {names.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
          <select
            aria-label="Level"
            value={level}
            onChange={({ currentTarget }) => setLevel(currentTarget.value)}
          >
            <option value="">All levels</option>
            <option value="warn">Warnings and errors</option>
            <option value="error">Errors</option>
          </select>
        </div>
      }
    >
      {entries.length === 0 ? (
        <Empty>{services.length === 0 ? 'No service answers.' : 'No entry.'}</Empty>
      ) : (
        <div className="scroll tall" tabIndex={0} role="group" aria-label="Logs of the services">
          <table className="rows logs">
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col">Level</th>
                <th scope="col">Service</th>
                <th scope="col">Entry</th>
              </tr>
            </thead>
            <tbody>
              {entries.map((entry, index) => (
                <tr key={`${entry.instance} ${entry.at} ${index}`}>
                  <td className="muted">{clock(entry.at)}</td>
                  <td>
                    <Badge tone={TONES[entry.level]}>{entry.level}</Badge>
                  </td>
                  <td title={entry.instance}>{entry.service}</td>
                  <td className="message">{entry.message}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <p className="note">The last 100 entries of each process.</p>
    </Card>
  );
}

import type { LiveHealth, LiveService, RecordedHealth, RunDetail } from '@ui-rl/records';
import { useApi, usePulse } from './api';
import { bytes, count, day, duration, number, plural } from './format';
import { LogTails } from './log-tails';
import { links } from './route';
import { RolloutsInProgress } from './rollouts-in-progress';
import { RunControls } from './run-controls';
import { isOver } from './run-kind';
import { useNow } from './signs-of-life';
import { StalenessCard, TimeCard } from './time-spent';
import { Badge, Card, Empty, Problem } from './ui';
import { runPath } from './reads';

const POLL_MS = 5_000;
/** Services that a run needs, besides samplers, which not every run has. */
const NEEDED = ['learner', 'task-loader', 'evaluator', 'actor', 'env'];

/** How the services of a run do, what waits for them, and where the time goes. */
export function HealthView({ run, version }: { run: RunDetail; version: number }) {
  const path = runPath(run.id);
  const { data: recorded, error } = useApi<RecordedHealth>(`${path}/health`, version);
  const { data: live, error: liveError } = useApi<LiveHealth>(`${path}/live`, usePulse(POLL_MS));
  // Usually, the services of a run that has ended are gone.
  const isAsked = live !== null && (!isOver(run) || live.services.length > 0);
  return (
    <>
      <Problem error={error ?? liveError} />
      {!isOver(run) && live !== null && <RunControls run={run} hasBroker={live.hasBroker} />}
      <Services run={run} live={live} />
      {!isOver(run) && <RolloutsInProgress run={run.id} version={version} />}
      <div className="columns">
        {recorded !== null && <TimeCard profile={recorded.profile} />}
        {recorded !== null && <StalenessCard staleness={recorded.staleness} config={run.config} />}
        {isAsked && <Queues run={run} live={live} />}
        {isAsked && <Machines services={live.services} />}
      </div>
      {recorded !== null && (
        <p className="note">
          {recorded.deadLetters === 0
            ? 'Services could read every message of this run.'
            : `Services could not read ${plural(recorded.deadLetters, 'message')} of this run: `}
          {recorded.deadLetters > 0 && <a href={links.deadLetters}>dead letters</a>}
        </p>
      )}
      {isAsked && <LogTails services={live.services} />}
    </>
  );
}

function Services({ run, live }: { run: RunDetail; live: LiveHealth | null }) {
  const services = live?.services ?? [];
  const known = new Set(services.map(({ service }) => service));
  const others =
    isOver(run) || live?.hasBroker !== true ? run.services.map(({ service }) => service) : NEEDED;
  const silent = [...new Set([...others, ...run.services.map(({ service }) => service)])].filter(
    (service) => !known.has(service),
  );
  return (
    <Card title="Services">
      {live?.hasBroker === false && !isOver(run) && (
        <p className="note">
          This monitor has no broker and shows records only. The page of the live run knows its services.
        </p>
      )}
      {services.length + silent.length === 0 && <Empty>No service has joined the run.</Empty>}
      {services.length + silent.length > 0 && (
        <div className="scroll" tabIndex={0} role="group" aria-label="Services">
          <table className="rows">
            <thead>
              <tr>
                <th scope="col">Service</th>
                <th scope="col">State</th>
                <th scope="col" title="the latest record that it left in the run">
                  Last sign
                </th>
                <th scope="col" className="num" title="cores in use; without browsers and other processes">
                  CPU
                </th>
                <th scope="col" className="num" title="resident; without browsers and other processes">
                  Memory
                </th>
                <th scope="col" className="num">
                  Runs for
                </th>
              </tr>
            </thead>
            <tbody>
              {services.map((each) => (
                <ProcessRow key={each.instance} run={run} {...each} />
              ))}
              {silent.map((service) => (
                <SilentRow key={service} run={run} service={service} hasBroker={live?.hasBroker === true} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

function ProcessRow({ run, service, instance, process }: LiveService & { run: RunDetail }) {
  return (
    <tr>
      <th scope="row">
        {service}
        <small className="muted">
          {instance}
          {process !== null && ` on ${process.host}, process ${process.pid}`}
        </small>
      </th>
      <td>
        <Badge tone="good">answers</Badge>
      </td>
      <Sign run={run} service={service} />
      <td className="num">{process === null ? '–' : number(process.cpuCores)}</td>
      <td className="num">{process === null ? '–' : bytes(process.memoryBytes)}</td>
      <td className="num">{process === null ? '–' : duration(process.uptimeSeconds * 1_000)}</td>
    </tr>
  );
}

function SilentRow({ run, service, hasBroker }: { run: RunDetail; service: string; hasBroker: boolean }) {
  return (
    <tr>
      <th scope="row">{service}</th>
      <td>{!hasBroker || isOver(run) ? <Badge>not asked</Badge> : <Badge tone="bad">silent</Badge>}</td>
      <Sign run={run} service={service} />
      <td className="num">–</td>
      <td className="num">–</td>
      <td className="num">–</td>
    </tr>
  );
}

function Sign({ run, service }: { run: RunDetail; service: string }) {
  const now = useNow();
  const found = run.services.find((each) => each.service === service);
  if (found === undefined) return <td className="muted">none</td>;
  const ago = Math.max(0, now - Date.parse(found.at));
  return (
    <td>
      {found.sign} <span className="muted">{isOver(run) ? day(found.at) : `${duration(ago)} ago`}</span>
    </td>
  );
}

/** Consumers by the beginning of their names. */
const READERS: [name: RegExp, words: string][] = [
  [/^actors-/, 'Episodes for actors'],
  [/^learner-/, 'Episodes for the learner'],
  [/^evaluator/, 'Messages for the evaluator'],
  [/^task-loader/, 'Messages for the task-loader'],
  [/^monitor-trajectories$/, 'Episodes for the monitor'],
  [/^monitor-events$/, 'Events for the monitor'],
];

function Queues({ run, live }: { run: RunDetail; live: LiveHealth | null }) {
  const queues = (live?.queues ?? []).toSorted((a, b) => b.waiting - a.waiting);
  return (
    <Card title="Queues">
      {queues.length === 0 ? (
        <Empty>
          {live?.hasBroker === false ? 'Unknown without a broker.' : 'No service reads messages.'}
        </Empty>
      ) : (
        <div className="scroll tall" tabIndex={0} role="group" aria-label="Queues">
          <table className="rows">
            <thead>
              <tr>
                <th scope="col">Reader</th>
                <th scope="col" className="num">
                  Waiting
                </th>
                <th scope="col" className="num">
                  In progress
                </th>
              </tr>
            </thead>
            <tbody>
              {queues.map(({ stream, name, waiting, inProgress }) => (
                <tr key={`${stream} ${name}`}>
                  <th scope="row">
                    {READERS.find(([pattern]) => pattern.test(name))?.[1] ?? name}
                    <small className="muted">
                      {stream}, {name}
                      {name.includes(run.id) ? '' : ', of all runs'}
                    </small>
                  </th>
                  <td className="num">{count(waiting - inProgress)}</td>
                  <td className="num">{count(inProgress)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

function Machines({ services }: { services: LiveService[] }) {
  const machines = new Map(
    services.flatMap(({ process }) => (process === null ? [] : [[process.host, process] as const])),
  );
  return (
    <Card title="Machines">
      {machines.size === 0 ? (
        <Empty>No service says where it runs.</Empty>
      ) : (
        <table className="rows">
          <thead>
            <tr>
              <th scope="col">Machine</th>
              <th scope="col" className="num" title="load average of one minute, of the number of cores">
                Load
              </th>
              <th scope="col" className="num">
                Free memory
              </th>
            </tr>
          </thead>
          <tbody>
            {[...machines].map(([host, machine]) => (
              <tr key={host}>
                <th scope="row">{host}</th>
                <td className="num">
                  {number(machine.machineLoad, 1)} of {machine.machineCores}
                </td>
                <td className="num">
                  {bytes(machine.machineFreeBytes)} of {bytes(machine.machineMemoryBytes)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}

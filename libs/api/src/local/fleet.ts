import { join } from 'node:path';
import { ManagedProcess } from './managed-process';
import { fleetMembers, portsOf, SERVICES, type Copies, type MemberPort, type ServiceName } from './members';
import { freePort, startLocalNats, type LocalNats } from './nats-server';
import { serviceProgram } from './project';
import { refuseTakenPorts } from './taken-ports';

export interface FleetOptions {
  /** Default: all. */
  services?: readonly ServiceName[];
  /** Number of processes of each service. Default: one; no `sampler`. */
  copies?: Copies;
  /** nats-server binary to start if no broker is configured. */
  natsServer: string;
  /** Uses the broker that `env` names instead of a private one. */
  hasBroker?: boolean;
  /** Preferred ports. Default: any free ports. */
  usualPorts?: { nats: number; monitor: number };
  /** Holds the broker's store and the services' logs. */
  workDir: string;
  /** Removes `workDir` with the fleet, even after this process is killed. */
  isTemporary?: boolean;
  /** Environment of the services; the private broker and the monitor's port override it. */
  env: Record<string, string | undefined>;
  onWarning: (message: string) => void;
}

/** A broker and services, each a separate process on this machine. */
export class Fleet {
  private constructor(
    readonly monitorUrl: string,
    /** The private broker. */
    readonly nats: LocalNats | null,
    private readonly services: ManagedProcess[],
    /** Configured ports of its processes, besides the monitor's. */
    readonly ports: readonly MemberPort[],
  ) {}

  static async start(options: FleetOptions): Promise<Fleet> {
    const membersWith = (env: FleetOptions['env']) =>
      fleetMembers(options.services ?? SERVICES, options.copies ?? {}, env);
    await refuseTakenPorts(membersWith(options.env));
    const log = (name: string) => join(options.workDir, 'logs', `${name}.log`);
    const nats =
      options.hasBroker === true
        ? null
        : await startLocalNats(
            options.natsServer,
            join(options.workDir, 'nats'),
            log('nats-server'),
            options.onWarning,
            {
              usualPort: options.usualPorts?.nats,
              temporaryDir: options.isTemporary === true ? options.workDir : undefined,
            },
          );
    const port = await freePort(options.usualPorts?.monitor);
    const env = { ...options.env, ...nats?.env, MONITOR_PORT: String(port) };
    const members = membersWith(env);
    const services = members.map(
      (member) =>
        new ManagedProcess(
          {
            name: member.name,
            command: process.execPath,
            args: [serviceProgram(member.service)],
            env: member.env,
            logFile: log(member.name),
            restart: true,
          },
          options.onWarning,
        ),
    );
    for (const service of services) service.start();
    return new Fleet(`http://127.0.0.1:${port}`, nats, services, members.flatMap(portsOf));
  }

  /** Peak resident set of each process so far, in bytes. */
  peakRss(): Record<string, number> {
    const all = this.nats === null ? this.services : [...this.services, this.nats.process];
    return Object.fromEntries(all.map((service) => [service.spec.name, service.peakRss]));
  }

  /** Stops the services, then the broker. */
  async stop(): Promise<void> {
    await Promise.all(this.services.map((service) => service.stop()));
    await this.nats?.stop();
  }
}

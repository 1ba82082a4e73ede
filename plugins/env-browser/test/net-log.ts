import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programOf } from './support';

/** Log events of outgoing traffic, by any part of the browser. */
const LEAVING = {
  TCP_CONNECT_ATTEMPT: 'tcp',
  UDP_BYTES_SENT: 'udp',
  HOST_RESOLVER_SYSTEM_TASK: 'name',
  HOST_RESOLVER_DNS_TASK: 'name',
} as const;

export interface Departure {
  kind: 'tcp' | 'udp' | 'name';
  to: string;
}

interface LoggedEvent {
  type: number;
  params?: { address?: string; host?: string };
}

/** A browser that logs its network service (chromium.org, "NetLog"). */
export class NetLog {
  readonly folder = mkdtempSync(join(tmpdir(), 'net-log-'));
  private readonly file = join(this.folder, 'log.json');

  /** A program that starts the browser with logging. */
  program(): string {
    const program = programOf(this.folder, `set -- --log-net-log=${this.file} "$@"`);
    // The browser may run as another user.
    chmodSync(this.folder, 0o777);
    return program;
  }

  /** Every endpoint that was contacted or looked up, in order. Call it after the browser has ended. */
  departures(): Departure[] {
    const [head, ...lines] = readFileSync(this.file, 'utf8').split('\n"events": [\n');
    const { constants } = JSON.parse(`${head.replace(/,\s*$/, '')}}`) as {
      constants: { logEventTypes: Record<string, number> };
    };
    const kinds = new Map(
      Object.entries(LEAVING).map(([name, kind]) => [typeOf(constants.logEventTypes, name), kind]),
    );
    return lines
      .join('')
      .split('\n')
      .flatMap((line) => {
        const event = eventOf(line);
        const kind = event === null ? undefined : kinds.get(event.type);
        const to = event?.params?.address ?? event?.params?.host;
        return kind === undefined || (to === undefined && kind !== 'udp')
          ? []
          : [{ kind, to: to ?? 'its other end' }];
      });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}

function typeOf(types: Record<string, number>, name: string): number {
  if (types[name] === undefined) throw new Error(`this browser knows no event ${name}`);
  return types[name];
}

/** The last line is incomplete if the browser was killed. */
function eventOf(line: string): LoggedEvent | null {
  try {
    return JSON.parse(line.replace(/,$/, '')) as LoggedEvent;
  } catch {
    return null;
  }
}

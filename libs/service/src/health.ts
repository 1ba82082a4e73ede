import { createServer, type Server, type ServerResponse } from 'node:http';
import { collectDefaultMetrics, Gauge, register } from 'prom-client';
import type { AddressInfo } from 'node:net';
import type { BusService } from '@ui-rl/bus';
import { DEADLINES, describeError, waitAtMost } from '@ui-rl/retry';

/** The start-up state of a service's process: `/ready` reports what it waits for. */
export interface Progress {
  service: string;
  /** `to start`, `for NATS` …; null once the service works. */
  waits: string | null;
  bus?: BusService;
}

export interface HealthAddress {
  host: string;
  port: number;
}

/**
 * Health endpoints: `GET /health` returns 200 as long as the process responds, `GET /ready` returns 200 while it is
 * connected and accepts work, else 503 with what it waits for, `GET /metrics` is for Prometheus.
 */
export async function serveHealth({ host, port }: HealthAddress, progress: Progress): Promise<Server> {
  measure(progress);
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0];
    if (request.method !== 'GET' && request.method !== 'HEAD') reply(response, 405, { error: 'GET only' });
    else if (path === '/health') reply(response, 200, { status: 'ok', ...identity(progress) });
    else if (path === '/ready')
      void readiness(progress).then(([status, body]) => reply(response, status, body));
    else if (path === '/metrics') void sendMetrics(response);
    else reply(response, 404, { error: 'there are /health, /ready and /metrics' });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new Error(`cannot listen on ${host}:${port} (HEALTH_HOST, HEALTH_PORT): ${cause.message}`, { cause }),
      ),
    );
    server.listen(port, host, resolve);
  });
  // Health requests must not keep the process alive.
  server.unref();
  return server;
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** Metrics of the process itself, besides those of its parts. */
function measure(progress: Progress): void {
  register.setDefaultLabels({ service: progress.service });
  collectDefaultMetrics();
  const ready = new Gauge({
    name: 'uirl_ready',
    help: '1 while the service is connected and takes work, else 0',
    collect: async () => {
      const [status] = await readiness(progress);
      ready.set(status === 200 ? 1 : 0);
    },
  });
}

async function sendMetrics(response: ServerResponse): Promise<void> {
  try {
    const text = await register.metrics();
    response.writeHead(200, { 'content-type': register.contentType, 'cache-control': 'no-store' }).end(text);
  } catch (error) {
    reply(response, 500, { error: describeError(error) });
  }
}

async function readiness(progress: Progress): Promise<[number, object]> {
  const waits = progress.waits ?? (await brokerIsAway(progress.bus));
  const said = identity(progress);
  return waits === null ? [200, { status: 'ready', ...said }] : [503, { status: 'waiting', ...said, waits }];
}

async function brokerIsAway(bus: BusService | undefined): Promise<string | null> {
  if (bus === undefined) return 'for NATS';
  const { ms } = DEADLINES.health;
  try {
    let answered = false;
    await waitAtMost(
      ms,
      bus.connection.flush().then(() => (answered = true)),
    );
    return answered ? null : `for NATS, which gave no answer within ${ms} ms`;
  } catch (error) {
    return `for NATS: ${describeError(error)}`;
  }
}

function identity({ service, bus }: Progress): object {
  return { service, instance: bus?.instance, uptimeSeconds: Math.round(process.uptime()) };
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(`${JSON.stringify(body)}\n`);
}

import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PATH_METADATA } from '@nestjs/common/constants';
import { Kvm } from '@nats-io/kv';
import { BusService } from '@ui-rl/bus';
import { BUCKETS } from '@ui-rl/contracts';
import { loadComponents } from '@ui-rl/plugin-kit';
import { type NatsServer, startNats } from '@ui-rl/testkit';
import { ApiController } from './http/api.controller';
import { DeadLetterController } from './http/dead-letter.controller';
import { HealthController } from './http/health.controller';
import { RunEditController } from './http/run-edit.controller';
import { RunHealthController } from './http/run-health.controller';
import { LiveController } from './http/live.controller';
import { StoreController } from './http/store.controller';
import { type Monitor, startMonitor } from './server';

let nats: NatsServer;
let bus: BusService;
let folder: string;
let monitor: Monitor;

beforeAll(async () => {
  nats = await startNats();
  folder = await mkdtemp(join(tmpdir(), 'ui-rl-monitor-'));
  bus = await BusService.connect({ service: 'monitor', servers: [nats.url] });
  monitor = await startMonitor(bus, {
    database: { kind: 'pglite', dataDir: join(folder, 'database') },
    host: '127.0.0.1',
    port: 0,
    tokenFile: join(folder, 'monitor-token'),
    components: await loadComponents(),
  });
});

afterAll(async () => {
  await monitor.close();
  await bus.close();
  await nats.stop();
  await rm(folder, { recursive: true, force: true });
});

/** All routes of the monitor. */
function routes(): string[] {
  const controllers = [
    ApiController,
    RunEditController,
    RunHealthController,
    LiveController,
    DeadLetterController,
    StoreController,
    HealthController,
  ];
  return controllers.flatMap((controller) => {
    const base = Reflect.getMetadata(PATH_METADATA, controller) as string;
    const prototype = controller.prototype as unknown as Record<string, object>;
    return Object.getOwnPropertyNames(prototype).flatMap((name) => {
      const path = Reflect.getMetadata(PATH_METADATA, prototype[name]) as string | undefined;
      return path === undefined || name === 'constructor' ? [] : [`/${base}/${path}`.replace(/\/+$/, '')];
    });
  });
}

/** Sends the path as it is: a client would normalize some of these. */
function statusOf(path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(`${monitor.url}/`, { path }, (response) => {
      resolve(response.statusCode ?? 0);
      response.destroy();
    });
    asked.on('error', reject).end();
  });
}

const NASTY = [
  ...[
    '%00',
    'a%00b',
    '%ff',
    '%c3%28',
    '%ed%a0%80',
    '%',
    '%2e%2e%2f',
    '%20',
    '%0a',
    '%1b[2J',
    "'",
    '$1',
    '\\\\',
  ],
  ...[
    '-1',
    '0',
    '1.5',
    '1e3',
    'NaN',
    '2147483648',
    '99999999999999999999',
    '9'.repeat(400),
    'x'.repeat(4_000),
  ],
  ...['constructor', '__proto__', '[object%20Object]', '%F0%9F%99%82', '%EF%BF%BF', 'null', 'undefined'],
];
const QUERIES = [
  'to',
  'name',
  'run',
  'task',
  'taskId',
  'evaluation',
  'before',
  'search',
  'archived',
  'limit',
  'purpose',
  'status',
  'success',
];

it('finds every route', () => {
  expect(routes()).toHaveLength(27);
  expect(routes()).toEqual(
    expect.arrayContaining(['/api/runs/:run/steps/:step', '/api/dead-letters', '/api/live']),
  );
});

it('answers every address with a status that is not 500, for any path parameters', async () => {
  const failed: string[] = [];
  for (const route of routes()) {
    const places = route.match(/:\w+/g) ?? [];
    for (const value of places.length === 0 ? [] : NASTY) {
      for (const place of places) {
        const path = route
          .replace(place, value)
          .replaceAll(/:\w+/g, (other) => (other === ':run' ? 'demo' : '1'));
        const status = await statusOf(path);
        if (status < 200 || status >= 500) failed.push(`${status} ${path.slice(0, 100)}`);
      }
    }
  }
  expect(failed).toEqual([]);
});

it('answers every query with a status that is not 500, for any values', async () => {
  const failed: string[] = [];
  for (const route of routes()) {
    const path = route.replace(':run', 'demo').replace(':step', '1').replaceAll(/:\w+/g, 'a');
    for (const name of QUERIES) {
      const encoded = NASTY.filter((_, at) => at % 3 === 0).map((value) => `${name}=${value}`);
      const odd = [`${name}[]=1`, `${name}[a]=1`, `${name}=1&${name}=2`, `${name}[__proto__]=1`, name];
      const cursors = ['2026-11-20T10:15:00Z~%00', '9999-99-99T00:00:00Z~a', '0000-01-01T00:00:00Z~a'];
      const statuses: Promise<[status: number, query: string]>[] = [];
      for (const query of [...encoded, ...odd, ...cursors.map((cursor) => `${name}=${cursor}`)]) {
        statuses.push(statusOf(`${path}?${query}`).then((status) => [status, query]));
      }
      for (const [status, query] of await Promise.all(statuses))
        if (status < 200 || status >= 500) failed.push(`${status} ${path}?${query}`.slice(0, 120));
    }
  }
  expect(failed).toEqual([]);
}, 300_000);

it('shows the dead letters that can be read beside those that cannot', async () => {
  const bucket = await new Kvm(bus.connection).open(BUCKETS.deadLetters);
  for (const [key, text] of Object.entries({ a: 'no JSON', b: '{}', c: '{"at":{},"reason":[1]}', d: '[1]' }))
    await bucket.put(key, text);
  const letter = {
    ...{ key: 'e', at: '2026-11-20T10:15:00Z', service: 'env', subject: 'uirl.task.run', reason: 'no text' },
    ...{ payload: '7', encoding: 'utf8', sizeBytes: 1 },
  };
  await bus.deadLetterBucket.put('e', letter);
  expect(await (await fetch(`${monitor.url}/api/dead-letters`)).json()).toEqual([letter]);
});

import { tmpdir } from 'node:os';
import { Logger } from '@nestjs/common';
import { BusService } from '@ui-rl/bus';
import { subjects } from '@ui-rl/contracts';
import { loadComponents } from '@ui-rl/plugin-kit';
import {
  eventually,
  makeRollout,
  makeTrajectory,
  type NatsServer,
  type PostgresServer,
  startNats,
  startPostgres,
} from '@ui-rl/testkit';
import { Client } from 'pg';
import { type Monitor, startMonitor } from './server';

Logger.overrideLogger(false);

const RUN = 'read-by-many';

let nats: NatsServer;
let postgres: PostgresServer;
let bus: BusService;
let monitor: Monitor;
/** Another client of the same database. */
let other: Client;

beforeAll(async () => {
  [nats, postgres] = await Promise.all([startNats(), startPostgres()]);
  bus = await BusService.connect({ service: 'monitor', servers: [nats.url] });
  const database = { kind: 'postgres', url: postgres.url } as const;
  const page = { host: '127.0.0.1', port: 0, tokenFile: tmpdir() };
  monitor = await startMonitor(bus, { ...page, database, components: await loadComponents() });
  other = new Client({ connectionString: postgres.url });
  await other.connect();
});

afterAll(async () => {
  await other.end();
  await monitor.close();
  await bus.close();
  await postgres.stop();
  await nats.stop();
});

const isRecorded = async (id: string): Promise<boolean> => {
  const { rowCount } = await other.query('SELECT 1 FROM trajectories WHERE id = $1', [id]);
  return rowCount === 1;
};

test('episodes are recorded while all that readers ask is slow, and readers beyond a bound are turned away', async () => {
  await other.query('BEGIN');
  // Blocks readers of task scores, but not the recording of episodes.
  await other.query('LOCK TABLE evaluation_tasks IN ACCESS EXCLUSIVE MODE');
  const asked = Array.from({ length: 100 }, () => fetch(`${monitor.url}/api/runs/${RUN}/tasks`));
  const turnedAway: number[] = [];
  for (const each of asked) void each.then(({ status }) => status === 503 && turnedAway.push(status));
  await eventually('readers that are turned away', () => turnedAway.length === 100 - 4 - 64);
  const request = makeRollout({ runId: RUN, rolloutId: `${RUN}-1` });
  await bus.publishJson(subjects.trajectory(RUN, 'train'), makeTrajectory({ request }), 'one');
  await eventually('the episode in the database', () => isRecorded(`${RUN}-1`), 5_000);
  await other.query('COMMIT');
  const answers = await Promise.all(asked);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(4 + 64);
});

test('stored run files have no secrets, from any announcer', async () => {
  const config = {
    rewards: {
      name: 'of-a-stranger',
      generosity: 2,
      api_key: 'hush',
      url: 'https://me:hush@judge.example?token=hush',
    },
  };
  await bus.runs.create({ runId: 'by-hand', createdAt: new Date().toISOString(), config });
  const stored = await eventually('the run file', async () => {
    const { rows } = await other.query<{ all: string }>(
      `SELECT (SELECT string_agg(runs::text, '') FROM runs) || (SELECT string_agg(events::text, '') FROM events) AS all`,
    );
    return rows[0].all?.includes('generosity') ? rows[0].all : null;
  });
  expect(stored).not.toContain('hush');
});

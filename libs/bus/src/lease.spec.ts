import { Logger } from '@nestjs/common';
import { runKeys, type PolicyState, type RunLease } from '@ui-rl/contracts';
import { DEADLINES } from '@ui-rl/retry';
import { eventually, FaultyProxy, startNats, type NatsServer } from '@ui-rl/testkit';
import { BusService, LeaseLost, type Lease } from './index';

Logger.overrideLogger(false);

let nats: NatsServer;
let buses: BusService[] = [];
let leases: Lease[] = [];
let runs = 0;
let runId: string;

beforeAll(async () => {
  nats = await startNats();
});
afterAll(() => nats.stop());
beforeEach(() => (runId = `run-${++runs}`));
afterEach(async () => {
  await Promise.all(leases.map((lease) => lease.release()));
  await Promise.all(buses.map((bus) => bus.close()));
  leases = [];
  buses = [];
});

/** A separate connection, as for a separate process. */
async function connect(url = nats.url): Promise<BusService> {
  const bus = await BusService.connect({ service: 'test', servers: [url] });
  buses.push(bus);
  return bus;
}

/** @param waited receives the lease that has to be waited for */
async function acquire(bus: BusService, waited: RunLease[] = [], stop?: AbortSignal): Promise<Lease> {
  const signal = stop ?? new AbortController().signal;
  const onWaiting = (held: RunLease): void => void waited.push(held);
  const lease = await bus.runs.lease(runId, { holder: bus.instance, host: 'here', signal, onWaiting });
  leases.push(lease);
  return lease;
}

const policyOf = (epoch: number, version: number): PolicyState => ({
  ...{ epoch, version },
  ...{ adapterDigest: 'd', checkpoint: 'latest', groupsRequested: 0 },
});

it('goes to the next one when its holder is cut off; that one learns of it, and nothing of its is taken any more', async () => {
  const proxy = await FaultyProxy.start(nats.port);
  const first = await connect(`nats://127.0.0.1:${proxy.port}`);
  const second = await connect();
  const held = await acquire(first);
  await first.runs.putPolicy(runId, policyOf(held.epoch, 1));
  proxy.cut(true);
  const began = Date.now();
  const next = await acquire(second);
  expect(Date.now() - began).toBeLessThan(2 * DEADLINES.lease.ms);
  // Before the new holder has written: the value that the old one read is final from here on.
  expect(await second.runs.policy(runId)).toMatchObject({ epoch: next.epoch, version: 1 });
  proxy.heal();
  await expect(first.runs.putPolicy(runId, policyOf(held.epoch, 2))).rejects.toThrow(LeaseLost);
  await eventually('the end of the first', () => held.lost.aborted);
  expect(String(held.lost.reason)).toContain(second.instance);
  await expect(held.ensure()).rejects.toThrow(LeaseLost);
  await next.ensure();
  await second.runs.putPolicy(runId, policyOf(next.epoch, 2));
  expect(await second.runs.policy(runId)).toMatchObject({ version: 2 });
  await first.close();
  await proxy.stop();
});

it('stays with its holder while that is heard of, and while the broker is away; given back, the next one has it at once', async () => {
  const [first, second] = await Promise.all([connect(), connect()]);
  const held = await acquire(first);
  const waited: RunLease[] = [];
  const next = acquire(second, waited);
  await eventually('a learner that waits', () => waited.length > 0);
  await nats.kill();
  // A new disk also loses the lease.
  nats.loseStore();
  await new Promise((resolve) => setTimeout(resolve, DEADLINES.lease.ms + 500));
  await nats.launch();
  const stored = async (): Promise<RunLease | undefined> =>
    (await second.runsBucket.get<RunLease>(runKeys.lease(runId)))?.value;
  await eventually('the lease again', async () => (await stored())?.holder === first.instance);
  await held.confirm();
  expect(waited).toEqual([{ holder: first.instance, host: 'here', epoch: held.epoch }]);
  await held.release();
  await expect(held.confirm()).rejects.toThrow(LeaseLost);
  expect((await next).epoch).toBe(held.epoch + 1);
});

it('ends where the run was deleted, and is not written again', async () => {
  const bus = await connect();
  const held = await acquire(bus);
  await bus.runsBucket.delete(runKeys.lease(runId));
  await expect(held.confirm()).rejects.toThrow('was deleted');
  expect(await bus.runsBucket.get(runKeys.lease(runId))).toBeNull();
});

it('is waited for only as long as the caller wants', async () => {
  const [first, second] = await Promise.all([connect(), connect()]);
  await acquire(first);
  const stop = new AbortController();
  const next = acquire(second, [], stop.signal);
  stop.abort();
  await expect(next).rejects.toThrow(LeaseLost);
});

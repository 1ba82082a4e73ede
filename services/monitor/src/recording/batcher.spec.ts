import { UnacceptableMessage } from '@ui-rl/bus';
import { type Database, findEpisode, migrate, openDatabase } from '@ui-rl/records';
import { eventually, makeRollout, makeTrajectory, type PostgresServer, startPostgres } from '@ui-rl/testkit';
import { Batcher, type Item } from './batcher';

describe('Batcher', () => {
  let server: PostgresServer;
  let database: Database;

  beforeAll(async () => {
    server = await startPostgres();
    database = await openDatabase({ kind: 'postgres', url: server.url });
    await migrate(database.dataSource);
  });

  afterAll(async () => {
    await database.close();
    await server.stop();
  });

  const item = (rolloutId: string, groupIndex = 0): Item => ({
    trajectory: makeTrajectory({ request: makeRollout({ rolloutId, groupIndex }) }),
  });
  const isRecorded = async (id: string) => (await findEpisode(database.dataSource, id)) !== null;

  it('writes what comes within a moment in one transaction', async () => {
    const batches: number[] = [];
    const batcher = new Batcher(database.dataSource, { committed: (items) => batches.push(items.length) });
    await Promise.all(['a', 'b', 'c'].map((id) => batcher.add(item(id))));
    expect(batches).toEqual([3]);
    expect(await isRecorded('c')).toBe(true);
    await batcher.stop();
  });

  it('refuses only the row the database refuses', async () => {
    const batcher = new Batcher(database.dataSource);
    const results = await Promise.allSettled(
      [item('d'), item('bad', 2 ** 40), item('e')].map((row) => batcher.add(row)),
    );
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect((results[1] as PromiseRejectedResult).reason).toBeInstanceOf(UnacceptableMessage);
    expect(await isRecorded('e')).toBe(true);
    await batcher.stop();
  });

  it('refuses a key that no index takes, and not all that comes with it and after it', async () => {
    const batcher = new Batcher(database.dataSource);
    // Incompressible data.
    const key = Array.from({ length: 3_000 }, (_, index) =>
      String.fromCodePoint(0x4e00 + ((index * 7919) % 20_000)),
    ).join('');
    const event = {
      type: 'warning',
      runId: 'run',
      at: new Date().toISOString(),
      service: 'actor',
      message: 'm',
    };
    const row = { event: { key, event } } as unknown as Item;
    const results = await Promise.allSettled([item('k'), row, item('l')].map((each) => batcher.add(each)));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    await batcher.stop();
  });

  it.each(Array.from({ length: 12 }, (_, turns) => turns))(
    'writes what fills a batch as the one before is done, %i promises after its commit',
    async (turns) => {
      const late = `late-${turns}`;
      let added: Promise<void> | undefined;
      const batcher: Batcher = new Batcher(database.dataSource, {
        maxItems: 1,
        committed: (items) => {
          const [first] = items;
          if (added !== undefined || !('trajectory' in first)) return;
          let chain = Promise.resolve();
          for (let turn = 0; turn < turns; turn += 1) chain = chain.then(() => undefined);
          added = chain.then(() => batcher.add(item(late)));
        },
      });
      await batcher.add(item(`early-${turns}`));
      await eventually('the late one', () => isRecorded(late), 2_000);
      await expect(added).resolves.toBeUndefined();
      await batcher.stop();
    },
  );

  it('waits for a database that crashed, and then writes what came meanwhile', async () => {
    const batcher = new Batcher(database.dataSource, { retry: { firstMs: 50, maxMs: 5_000 } });
    const attempts = jest.spyOn(database.dataSource, 'transaction');
    await server.kill();
    let written = false;
    const waiting = batcher.add(item('f')).then(() => (written = true));
    await eventually('a third attempt to write', () => attempts.mock.calls.length >= 3);
    expect(written).toBe(false);
    await server.launch();
    await waiting;
    expect(await isRecorded('f')).toBe(true);
    attempts.mockRestore();
    await batcher.stop();
  });

  it('stops in time without a database, and says that it did not write', async () => {
    const batcher = new Batcher(database.dataSource, { retry: { firstMs: 50, maxMs: 5_000 } });
    await server.kill();
    const outcome = batcher.add(item('g')).then(
      () => 'written',
      (error: Error) => error.message,
    );
    await batcher.stop();
    expect(await outcome).toMatch(/stopped before it could write/);
    await expect(batcher.add(item('h'))).rejects.toThrow(/being stopped/);
    await server.launch();
    expect(await isRecorded('g')).toBe(false);
  });
});

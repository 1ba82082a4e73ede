import { runKeys } from '@ui-rl/contracts';
import { loadComponents } from '@ui-rl/plugin-kit';
import { eventually } from '@ui-rl/testkit';
import { GROUP_SIZE, groupsOf, LoaderWorld } from '../test/loader-world';
import { GroupReleaser } from './group-releaser';
import { planRun } from './plan';

let world: LoaderWorld;

beforeAll(async () => {
  world = await LoaderWorld.open();
});
afterEach(() => world.endTest());
afterAll(() => world.close());

it('releases what is requested after a release that failed', async () => {
  const { bus } = world;
  const curriculum = { by: 'success', least_episodes: GROUP_SIZE, explore: 0 };
  const runId = await world.createRun('training', { rollout: { group_size: GROUP_SIZE, curriculum } });
  const components = await loadComponents();
  const plan = await planRun((await bus.runs.record(runId))!, { bus, components, cacheDir: world.folder });
  const seen = await world.collect(runId);
  const ending = new AbortController();
  const releaser = new GroupReleaser(bus, plan);
  const running = releaser.run(ending.signal);
  world.ends.push(async () => {
    ending.abort();
    await running;
    await plan.tasks.close();
  });
  await world.request(runId, 1);
  const released = async () => (await bus.runs.loader(runId))?.groupsReleased;
  await eventually('a group', async () => (await released()) === 1);

  const key = runKeys.loader(runId);
  const right = (await bus.runsBucket.get<object>(key))!.value;
  await bus.runsBucket.put(key, { groupsReleased: 'none' });
  await expect(releaser.learn(0, [])).rejects.toThrow('groupsReleased');
  await bus.runsBucket.put(key, right);

  await expect(releaser.learn(0, [])).resolves.toBeUndefined();
  await world.request(runId, 3);
  await eventually('two more groups', () => groupsOf(seen).length === 3);
});

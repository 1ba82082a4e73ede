import type { DeadLetter } from '@ui-rl/bus';
import { type RolloutRequest, SEED_RANGES, STREAMS, subjects } from '@ui-rl/contracts';
import { drained, eventually } from '@ui-rl/testkit';
import { LoaderWorld } from '../test/loader-world';

let world: LoaderWorld;

beforeAll(async () => {
  world = await LoaderWorld.open();
});
afterEach(() => world.endTest());
afterAll(() => world.close());

describe('a published task', () => {
  let runId: string;
  let seen: RolloutRequest[];
  const subject = () => subjects.task(runId);
  beforeEach(async () => {
    runId = await world.createRun('baseline');
    seen = await world.collect(runId);
    await world.startLoader(runId);
  });

  const publish = (text: string) => world.bus.connection.publish(subject(), text);
  const deadLetters = async () => {
    const keys = await world.bus.deadLetterBucket.keys('task-loader.TASKS.*');
    const records = await Promise.all(keys.map((key) => world.bus.deadLetterBucket.get<DeadLetter>(key)));
    return records.flatMap((entry) => (entry?.value.subject === subject() ? [entry.value] : []));
  };

  it('rolls a known goal out once, with the checks of its source', async () => {
    publish('{"description":"Turn on Bluetooth"}');
    await eventually('the rollout', () => seen.length > 0);
    const [rollout] = seen;
    expect(rollout).toMatchObject({ purpose: 'eval', groupSize: 1, policy: 'latest', runId });
    expect(rollout.evaluationId).toBeUndefined();
    expect(rollout.task).toMatchObject({ description: 'Turn on Bluetooth', source: 'demo' });
    expect(rollout.task.environment?.kind).toBe('browser');
    expect(rollout.task.checks?.length).toBeGreaterThan(0);
    expect(rollout.seed).toBeGreaterThanOrEqual(SEED_RANGES.published.first);
  });

  it('plays what no source knows where the training tasks are, without a verdict', async () => {
    publish('{"description":"Book a flight to Oslo"}');
    await eventually('the rollout', () => seen.length > 0);
    expect(seen[0].task).toMatchObject({ description: 'Book a flight to Oslo', source: 'published' });
    expect(seen[0].task.id).toMatch(/^task-/);
    expect(seen[0].task.environment?.kind).toBe('browser');
    expect(seen[0].task.checks).toBeUndefined();
  });

  it('takes a task with its own environment as it is', async () => {
    const task = {
      id: 'mine',
      description: 'Turn on Bluetooth',
      maxSteps: 2,
      environment: { kind: 'desktop', options: { display: 3 } },
    };
    publish(JSON.stringify(task));
    await eventually('the rollout', () => seen.length > 0);
    expect(seen[0].task).toEqual({ ...task, source: 'published' });
  });

  it('takes the names of task files', async () => {
    publish(
      '{"task_prompt":"Turn on Bluetooth","max_steps":3,"verifier":[{"path":"a","operator":"equals","value":1}]}',
    );
    await eventually('the rollout', () => seen.length > 0);
    expect(seen[0].task).toMatchObject({
      ...{ description: 'Turn on Bluetooth', source: 'demo', maxSteps: 3 },
      checks: [{ path: 'a', operator: 'equals', value: 1 }],
    });
  });

  it('makes a dead letter of an invalid task and continues', async () => {
    publish('{"description":');
    publish('{}');
    publish('{"description":"Open Music","max_step":3}');
    publish('{"description":"   "}');
    publish('[1,2]');
    publish('{"description":"Open Music"}');
    await eventually('the good one', () => seen.length > 0);
    const records = await eventually('5 records', async () => {
      const found = await deadLetters();
      return found.length >= 5 ? found : null;
    });
    expect(records.map(({ reason }) => reason).toSorted()).toEqual([
      expect.stringMatching(/^a published task: description is nothing, expected a text/),
      expect.stringMatching(/^a published task: unknown field "max_step"\..*maxSteps/),
      'description: holds nothing but white space',
      expect.stringContaining('expected an object'),
      expect.stringContaining('not JSON'),
    ]);
    expect(seen).toHaveLength(1);
  });

  it('rolls a task out once where it is published twice under one id', async () => {
    await world.bus.runs.publishTask(runId, { description: 'Open Music' }, 'by-me');
    await world.bus.runs.publishTask(runId, { description: 'Open Music' }, 'by-me');
    await world.bus.runs.publishTask(runId, { description: 'Open Music' }, 'by-you');
    await eventually('both', () => seen.length >= 2);
    await drained(world.bus, STREAMS.tasks, `task-loader-${runId}`);
    await world.allSeen(runId);
    expect(seen).toHaveLength(2);
    expect(seen[0].rolloutId).not.toBe(seen[1].rolloutId);
  });

  it('makes a dead letter of a task that comes after the end of the run', async () => {
    publish('{"description":"Open Music"}');
    await eventually('the rollout in time', () => seen.length > 0);
    await world.bus.runs.changePhase(runId, 'finished');
    publish('{"description":"Open Music"}');
    const [record] = await eventually('the record', async () => {
      const found = await deadLetters();
      return found.length > 0 ? found : null;
    });
    expect(record.reason).toContain(`run ${runId} has ended (finished)`);
    expect(seen).toHaveLength(1);
    const gone = async () => {
      const reply = await world.bus.connection.request(
        `$JS.API.CONSUMER.INFO.TASKS.task-loader-${runId}`,
        '',
      );
      return 'error' in reply.json<object>();
    };
    await eventually('an end of its consumer', gone);
  });
});

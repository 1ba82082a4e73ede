import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApplication } from '@ui-rl/service';
import { BusService } from '@ui-rl/bus';
import { STREAMS, subjects, type Trajectory } from '@ui-rl/contracts';
import { loadComponents } from '@ui-rl/plugin-kit';
import { eventually, makeRollout, makeTask } from '@ui-rl/testkit';
import OpenAI from 'openai';
import { ActorModule } from '../../services/actor/src/actor.module';
import { AgentEndpoint } from '../../services/actor/src/agents/agent-endpoint';
import { FIXTURE, LearnerWorld } from '../../services/learner/test/learner-world';

const CONFIG = {
  model: { name: 'fixture', prompt: 'compact' },
  tasks: { source_type: 'demo_training' },
  rollout: { played_by: 'agents', group_size: 2, max_tokens: 1 },
  training: { groups_per_batch: 1, max_steps: 1 },
};
const screen = `data:image/png;base64,${readFileSync(join(FIXTURE, 'images/0.png')).toString('base64')}`;

let world: LearnerWorld;

beforeAll(async () => {
  world = await LearnerWorld.open();
});
afterAll(async () => {
  await world.quit();
  await world.close();
});

async function post<T>(url: string, body: object): Promise<T> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as T;
}

/** An agent that uses only OpenAI's API: one growing conversation. */
async function converse(baseURL: string, turns: number): Promise<void> {
  const client = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 });
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    {
      role: 'user',
      content: [
        { type: 'image_url', image_url: { url: screen } },
        { type: 'text', text: 'Open Settings' },
      ],
    },
  ];
  for (let turn = 0; turn < turns; turn += 1) {
    const { choices } = await client.chat.completions.create({ model: 'latest', messages });
    messages.push(choices[0].message, { role: 'user', content: 'And now?' });
  }
  const tooLong = client.responses.create({ model: 'latest', input: 'word '.repeat(500) });
  await expect(tooLong).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' });
}

it('episodes of agents that speak OpenAI’s API alone are trained in a running run, token for token', async () => {
  const { bus } = world;
  const runId = world.newRunId();
  await bus.runs.create({ runId, createdAt: new Date().toISOString(), config: CONFIG }, 'training');
  await world.begin(runId, world.optionsWith({ 'training.groups_per_batch': 1, 'model.max_sequence': 256 }));
  await world.requested(runId, 1);
  const components = await loadComponents();
  const actorBus = await BusService.connect({
    service: 'actor',
    servers: [`nats://${bus.connection.getServer()}`],
  });
  const endpoint = {
    host: '127.0.0.1',
    port: 0,
    keys: [],
    keyFile: '',
    sealFile: '',
    maxRequests: 8,
    maxBodyBytes: 2 ** 20,
  };
  const actor = await openApplication(
    actorBus,
    ActorModule.forRoot({ runId, components, cacheDir: tmpdir() }, endpoint),
  );
  try {
    const task = makeTask({ maxSteps: 8 });
    for (const member of [0, 1]) {
      const groupId = `${runId}-g0`;
      const request = makeRollout({
        runId,
        groupId,
        indexInGroup: member,
        groupSize: 2,
        task,
        rolloutId: `${groupId}-r${member}`,
        samplingSeed: member,
      });
      await bus.publishJson(subjects.rollout(runId, 'train'), request, request.rolloutId);
    }
    const url = `${actor.get(AgentEndpoint).url}/sessions`;
    for (const state of ['settings', 'home']) {
      const session = await eventually('a session', () =>
        post<{ id: string; base_url: string }>(url, { environment: 'own', wait_seconds: 5 }).catch(
          () => null,
        ),
      );
      await converse(session.base_url, 3);
      const ended = await post<{ success: boolean; turns: number }>(`${url}/${session.id}/end`, {
        state: { screen: state },
      });
      expect(ended).toMatchObject({ success: state === 'settings', turns: 3 });
    }
    await world.reached(runId, 1);
    const [step] = await world.events(runId, 'train_step');
    expect(step.metrics['optim/samples']).toBe(6);
    const trajectories = await world.stored<Trajectory>(
      STREAMS.trajectories,
      subjects.trajectory(runId, 'train'),
      'agents',
    );
    expect(step.metrics['optim/sequences']).toBe(sequencesOf(trajectories));
    expect(step.metrics['optim/sequences']).toBeLessThan(6);
    // Sampler and trainer agree on every token, merged or not.
    expect(step.metrics['optim/logp_difference_max']).toBeLessThan(1e-3);
  } finally {
    await actor.close();
    await actorBus.close();
  }
});

/** Counts turns whose prompt does not continue an earlier turn of the episode token by token. */
function sequencesOf(trajectories: readonly Trajectory[]): number {
  return trajectories
    .map(({ turns }) => {
      const isContinued = turns.map(({ promptTokenIds, tokenIds }, index) => {
        const whole = [...promptTokenIds, ...tokenIds].join();
        return turns[index + 1]?.promptTokenIds.join().startsWith(`${whole},`) === true;
      });
      return isContinued.filter((continued) => !continued).length;
    })
    .reduce((sum, count) => sum + count, 0);
}

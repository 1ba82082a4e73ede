import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApplication } from '@ui-rl/service';
import { BusService } from '@ui-rl/bus';
import { STREAMS, subjects, type Trajectory } from '@ui-rl/contracts';
import { loadComponents } from '@ui-rl/plugin-kit';
import { eventually, makeRollout, makeTask } from '@ui-rl/testkit';
import Anthropic from '@anthropic-ai/sdk';
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
const png = readFileSync(join(FIXTURE, 'images/0.png')).toString('base64');
const screen = `data:image/png;base64,${png}`;
const TOO_LONG = 'word '.repeat(2_000);
const PARAMETERS = { type: 'object' as const, properties: {} };
const INPUT = { at: 'home' };

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

interface Session {
  id: string;
  base_url: string;
  anthropic_base_url: string;
}

/** An agent that uses only OpenAI's API: one growing conversation, with a tool that returns an image at its end. */
async function converse({ base_url: baseURL }: Session, turns: number): Promise<void> {
  const client = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 });
  const look = { type: 'image_url' as const, image_url: { url: screen } };
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: 'Be short.' },
    { role: 'user', content: [look, { type: 'text', text: 'Open Settings' }] },
  ];
  const tools = [{ type: 'function' as const, function: { name: 'look', parameters: PARAMETERS } }];
  const ask = async () => {
    const { choices } = await client.chat.completions.create({ model: 'latest', messages, tools });
    return choices[0].message;
  };
  for (let turn = 0; turn < turns - 1; turn += 1) messages.push(await ask(), { role: 'user', content: 'On' });
  const call = { name: 'look', arguments: JSON.stringify(INPUT) };
  messages.push(
    { role: 'assistant', content: 'I look.', tool_calls: [{ id: 'a', type: 'function', function: call }] },
    // The client's types know no images of tools.
    { role: 'tool', tool_call_id: 'a', content: [look] as never },
  );
  await ask();
  const tooLong = client.responses.create({ model: 'latest', input: TOO_LONG });
  await expect(tooLong).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' });
}

/** The same conversation through Anthropic's Messages API. */
async function converseByMessages(
  { anthropic_base_url: baseURL }: Session,
  turns: number,
): Promise<number[]> {
  const client = new Anthropic({ baseURL, apiKey: 'none', maxRetries: 0 });
  const source = { type: 'base64' as const, media_type: 'image/png' as const, data: png };
  const look = { type: 'image' as const, source };
  const messages: Anthropic.MessageParam[] = [
    { role: 'user', content: [look, { type: 'text', text: 'Open Settings' }] },
  ];
  const tools = [{ name: 'look', input_schema: PARAMETERS }];
  const prompt = { model: 'latest', system: 'Be short.', messages, tools };
  const counts: number[] = [];
  const ask = async (): Promise<Anthropic.MessageParam> => {
    const { input_tokens } = await client.messages.countTokens(prompt);
    const { content, usage } = await client.messages.stream({ ...prompt, max_tokens: 9 }).finalMessage();
    expect(usage.input_tokens).toBe(input_tokens);
    counts.push(input_tokens);
    return { role: 'assistant', content: content as Anthropic.ContentBlockParam[] };
  };
  for (let turn = 0; turn < turns - 1; turn += 1) messages.push(await ask(), { role: 'user', content: 'On' });
  messages.push(
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'I look.' },
        { type: 'tool_use', id: 'a', name: 'look', input: INPUT },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [look] }] },
  );
  await ask();
  const tooLong = { ...prompt, messages: [{ role: 'user' as const, content: TOO_LONG }] };
  const isTooLong = { status: 400, type: 'invalid_request_error', errorCode: 'context_length_exceeded' };
  await expect(client.messages.create({ ...tooLong, max_tokens: 9 })).rejects.toMatchObject(isTooLong);
  await expect(client.messages.countTokens(tooLong)).rejects.toMatchObject(isTooLong);
  return counts;
}

it('episodes of agents that speak OpenAI’s or Anthropic’s API alone are trained alike, token for token', async () => {
  const { bus } = world;
  const runId = world.newRunId();
  await bus.runs.create({ runId, createdAt: new Date().toISOString(), config: CONFIG }, 'training');
  await world.begin(
    runId,
    world.optionsWith({
      // Sharing a prompt prefix does not change the rounding.
      ...{ 'training.deterministic': true, 'training.groups_per_batch': 1, 'model.max_sequence': 1_024 },
    }),
  );
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
        samplingSeed: 1,
      });
      await bus.publishJson(subjects.rollout(runId, 'train'), request, request.rolloutId);
    }
    const url = `${actor.get(AgentEndpoint).url}/sessions`;
    let counts: number[] = [];
    for (const state of ['settings', 'home']) {
      const session = await eventually('a session', () =>
        post<Session>(url, { environment: 'own', wait_seconds: 5 }).catch(() => null),
      );
      if (state === 'settings') await converse(session, 4);
      else counts = await converseByMessages(session, 4);
      const ended = await post<{ success: boolean; turns: number }>(`${url}/${session.id}/end`, {
        state: { screen: state },
      });
      expect(ended).toMatchObject({ success: state === 'settings', turns: 4 });
    }
    await world.reached(runId, 1);
    const [step] = await world.events(runId, 'train_step');
    expect(step.metrics['optim/samples']).toBe(8);
    const trajectories = await world.stored<Trajectory>(
      STREAMS.trajectories,
      subjects.trajectory(runId, 'train'),
      'agents',
    );
    const [byChat, byMessages] = trajectories.map(({ turns }) =>
      turns.map(({ promptTokenIds, promptImages, tokenIds }) => ({ promptTokenIds, promptImages, tokenIds })),
    );
    expect(byMessages).toEqual(byChat);
    expect(byMessages.map(({ promptTokenIds }) => promptTokenIds.length)).toEqual(counts);
    expect(step.metrics['optim/sequences']).toBe(sequencesOf(trajectories));
    expect(step.metrics['optim/sequences']).toBeLessThan(8);
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

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkpointName, type PolicyActReply } from '@ui-rl/contracts';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { register } from 'prom-client';
import { FIXTURE, LearnerWorld, valueOf } from '../../test/learner-world';

const KEY = 'a-key-for-tests-only';
const png = readFileSync(join(FIXTURE, 'images/0.png'));
const IMAGE = `data:image/png;base64,${png.toString('base64')}`;

let world: LearnerWorld;
let runId: string;
let client: OpenAI;

const said = [
  {
    role: 'user' as const,
    content: [
      { type: 'image_url' as const, image_url: { url: IMAGE } },
      { type: 'text' as const, text: 'Open Settings' },
    ],
  },
];

beforeAll(async () => {
  world = await LearnerWorld.open();
  runId = await world.startRun(
    // Sharing a prompt prefix does not change the rounding.
    { 'training.deterministic': true, 'model.max_sequence': 256 },
    {
      host: '127.0.0.1',
      port: 0,
      keys: [KEY],
      keyFile: '',
      sealFile: join(world.runsDir, 'policy-seal'),
      maxRequests: 8,
      maxBodyBytes: 2 ** 20,
    },
  );
  client = new OpenAI({ baseURL: world.endpointUrl, apiKey: KEY, maxRetries: 0 });
});
afterAll(async () => {
  await world.quit();
  await world.close();
});

/** The reply to an actor. */
async function asActor(changes: object): Promise<PolicyActReply> {
  return valueOf(await world.act(runId, `r${Math.random()}`, changes));
}

it('gives callers the tokens and log-probabilities that actors get', async () => {
  const actor = await asActor({ seed: 7, maxTokens: 6 });
  const chat = await client.chat.completions.create({
    ...{ model: 'latest', messages: said, seed: 7, max_completion_tokens: 6, logprobs: true },
    ...{ return_token_ids: true },
  });
  const [choice] = chat.choices as unknown as {
    token_ids: number[];
    message: { content: string };
    logprobs: { content: { logprob: number }[] };
  }[];
  expect(choice.token_ids).toEqual(actor.tokenIds);
  expect(choice.logprobs.content.map(({ logprob }) => logprob)).toEqual(actor.logprobs);
  expect(choice.message.content).toBe(actor.text);
  expect(chat).toMatchObject({
    model: checkpointName({ runId, step: 0 }),
    system_fingerprint: actor.adapterDigest,
    prompt_token_ids: actor.promptTokenIds,
    usage: { prompt_tokens: actor.promptTokenIds.length, completion_tokens: actor.tokenIds.length },
  });
  const completion = await client.completions.create({
    ...{ model: 'latest', prompt: [1, 2, 3], seed: 3, max_tokens: 4, logprobs: 0 },
    ...{ return_token_ids: true },
  });
  const [{ token_ids, prompt_token_ids, logprobs }] = completion.choices as unknown as {
    token_ids: number[];
    prompt_token_ids: number[];
    logprobs: { token_logprobs: number[] };
  }[];
  expect(prompt_token_ids).toEqual([1, 2, 3]);
  expect(logprobs.token_logprobs).toHaveLength(token_ids.length);
});

it('streams the answer that it gives as a whole', async () => {
  const asked = { model: 'latest', messages: said, seed: 11, max_tokens: 8 };
  const whole = await client.chat.completions.create(asked);
  const chunks = [];
  for await (const chunk of await client.chat.completions.create({ ...asked, stream: true }))
    chunks.push(chunk);
  expect(chunks.map(({ choices }) => choices[0].delta.content ?? '').join('')).toBe(
    whole.choices[0].message.content,
  );
  expect(chunks.at(-1)?.choices[0].finish_reason).toBe(whole.choices[0].finish_reason);
  // The first one, one per token, and the last one.
  expect(chunks).toHaveLength(whole.usage!.completion_tokens + 2);
});

it('knows the base model, `latest` and checkpoints, and what each of them is after a step', async () => {
  const { data } = await client.models.list();
  expect(data.map(({ id }) => id)).toEqual(['latest', checkpointName({ runId, step: 0 }), 'fixture']);
  const before = await client.chat.completions.create({
    model: 'latest',
    messages: said,
    seed: 1,
    max_tokens: 2,
  });
  await world.playGroup(runId, 0, [1, 0]);
  await world.playGroup(runId, 1, [1, 0]);
  await world.reached(runId, 1);
  const ask = (model: string) =>
    client.chat.completions.create({ model, messages: said, seed: 1, max_tokens: 2 });
  const [latest, zero, base] = await Promise.all([
    ask('latest'),
    ask(checkpointName({ runId, step: 0 })),
    ask('fixture'),
  ]);
  expect(latest.model).toBe(checkpointName({ runId, step: 1 }));
  expect(latest.system_fingerprint).not.toBe(before.system_fingerprint);
  expect(zero.system_fingerprint).toBe(before.system_fingerprint);
  expect(base.model).toBe('fixture');
  await expect(ask('gpt-4o')).rejects.toMatchObject({ status: 404, code: 'model_not_found', param: 'model' });
});

it('answers /v1/responses with pictures, and continues from earlier responses', async () => {
  const first = await client.responses.create({
    model: 'latest',
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Open Settings' },
          { type: 'input_image', image_url: IMAGE, detail: 'auto' },
        ],
      },
    ],
    max_output_tokens: 4,
  });
  expect(first.output[0]).toMatchObject({ type: 'message', role: 'assistant' });
  const second = await client.responses.create({
    model: 'latest',
    previous_response_id: first.id,
    input: 'And now?',
    max_output_tokens: 2,
  });
  expect(second.usage!.input_tokens).toBeGreaterThan(first.usage!.total_tokens);
  expect(await client.responses.retrieve(first.id)).toMatchObject({
    id: first.id,
    output_text: first.output_text,
  });
});

it('answers /v1/messages as /v1/chat/completions, and counts the tokens of a prompt', async () => {
  const anthropic = new Anthropic({
    baseURL: world.endpointUrl.replace(/\/v1$/, ''),
    apiKey: KEY,
    maxRetries: 0,
  });
  const source = { type: 'base64' as const, media_type: 'image/png' as const, data: png.toString('base64') };
  const content = [
    { type: 'image' as const, source },
    { type: 'text' as const, text: 'Open Settings' },
  ];
  const prompt = { model: 'latest', messages: [{ role: 'user' as const, content }] };
  const message = await anthropic.messages.create({
    ...prompt,
    max_tokens: 6,
    // The client's types do not have it any more.
    ...{ temperature: 0 },
  });
  const chat = await client.chat.completions.create({
    ...{ model: 'latest', messages: said, max_tokens: 6, temperature: 0 },
  });
  expect(message).toMatchObject({
    model: chat.model,
    content: [{ type: 'text', text: chat.choices[0].message.content }],
    usage: {
      input_tokens: chat.usage!.prompt_tokens,
      output_tokens: chat.usage!.completion_tokens,
    },
  });
  expect(await anthropic.messages.countTokens(prompt)).toEqual({ input_tokens: message.usage.input_tokens });
  const tooLong = { ...prompt, messages: [{ role: 'user' as const, content: 'word '.repeat(500) }] };
  await expect(anthropic.messages.countTokens(tooLong)).rejects.toMatchObject({
    status: 400,
    type: 'invalid_request_error',
    errorCode: 'context_length_exceeded',
  });
  await expect(anthropic.messages.countTokens({ ...prompt, model: 'other' })).rejects.toMatchObject({
    status: 404,
    type: 'not_found_error',
  });
});

it('compacts a conversation with the policy, and continues from the result, also over a WebSocket', async () => {
  const compacted = await client.responses.compact({
    model: 'latest',
    input: [
      { role: 'user', content: 'Open Settings' },
      { role: 'assistant', content: 'It is open.' },
    ],
  });
  expect(compacted.output.map(({ type }) => type)).toEqual(['message', 'compaction']);
  expect(compacted.usage.output_tokens).toBeGreaterThan(0);
  const connection = new ResponsesWS(client);
  const ended = new Promise<string>((resolve, reject) => {
    connection.on('error', reject);
    connection.on('event', ({ type }) => {
      if (/completed|incomplete/.test(type)) resolve(type);
    });
  });
  connection.send({
    type: 'response.create',
    model: 'latest',
    max_output_tokens: 2,
    // The summary of an untrained policy is random, and may not fit.
    truncation: 'auto',
    input: [...(compacted.output as OpenAI.Responses.ResponseInputItem[]), { role: 'user', content: 'On' }],
  });
  expect(await ended).toMatch(/^response\./);
  connection.close();
});

it('measures how long callers wait for the device and for the first token', async () => {
  const countOf = async (name: string) => {
    const text = await register.getSingleMetricAsString(name);
    return [...text.matchAll(/_count\{[^}]*\} (\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const names = ['uirl_endpoint_request_queue_time_seconds', 'gen_ai_server_time_to_first_token_seconds'];
  const before = await Promise.all(names.map(countOf));
  await client.chat.completions.create({ model: 'latest', messages: said, max_tokens: 1 });
  expect(await Promise.all(names.map(countOf))).toEqual(before.map((count) => count + 1));
});

it('says in OpenAI’s form what cannot be', async () => {
  const stranger = new OpenAI({ baseURL: world.endpointUrl, apiKey: 'another-key-than-this', maxRetries: 0 });
  await expect(stranger.models.list()).rejects.toMatchObject({ status: 401, code: 'invalid_api_key' });
  const ask = (changes: object) =>
    client.chat.completions.create({ model: 'latest', messages: said, ...changes });
  await expect(ask({ messages: [{ role: 'user', content: 'word '.repeat(500) }] })).rejects.toMatchObject({
    status: 400,
    code: 'context_length_exceeded',
  });
  await expect(ask({ response_format: { type: 'json_object' } })).rejects.toMatchObject({
    status: 400,
    code: 'unsupported_parameter',
    param: 'response_format',
  });
  await expect(client.completions.create({ model: 'latest', prompt: [298] })).rejects.toMatchObject({
    status: 400,
    param: 'prompt',
  });
  const url = 'http://127.0.0.1:1/secret.png';
  const fetched = [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }];
  await expect(ask({ messages: fetched })).rejects.toMatchObject({
    status: 400,
    param: 'messages[0].content[0].image_url.url',
  });
});

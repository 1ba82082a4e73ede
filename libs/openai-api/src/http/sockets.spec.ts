import { once } from 'node:events';
import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { eventually } from '@ui-rl/testkit';
import { WebSocket } from 'ws';
import { KEY, openFor, Speaker } from '../../test/speaker';
import { ApiError } from '../errors';
import type { ServedPolicy } from '../policy';
import { PolicyDirectory } from './directory';
import type { Endpoint } from './server';

const until = (condition: () => boolean) => eventually('it has happened', condition, 15_000, 2);

interface Event {
  type: string;
  status?: number;
  error?: { code: string; param: string | null };
  response?: {
    id: string;
    status: string;
    output: { content: { text: string }[] }[];
    error: { code: string } | null;
  };
}

const speaker = new Speaker();
let endpoint: Endpoint;

beforeAll(async () => {
  endpoint = await openFor(speaker, { maxRequests: 8 });
});
afterAll(() => endpoint.close());
afterEach(() => Caller.leave());
beforeEach(() => {
  speaker.asked.length = 0;
  speaker.says = 'one two three';
  speaker.wait = Promise.resolve();
  speaker.pause = Promise.resolve();
});

/** A WebSocket client that receives one event after the other. */
class Caller {
  private readonly heard: Event[] = [];
  private at = 0;
  private code: number | undefined;
  private static readonly all: WebSocket[] = [];

  private constructor(readonly socket: WebSocket) {
    socket.on('close', (code) => (this.code = code));
    socket.on('message', (data) => this.heard.push(JSON.parse((data as Buffer).toString())));
  }

  static async open(at: Endpoint = endpoint, path = '/v1/responses', key = KEY): Promise<Caller> {
    const socket = new WebSocket(`${at.url.replace('http', 'ws')}${path}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    Caller.all.push(socket);
    const caller = new Caller(socket);
    await once(socket, 'open');
    return caller;
  }

  static leave(): void {
    for (const socket of Caller.all.splice(0)) socket.terminate();
  }

  send(fields: object): void {
    this.socket.send(JSON.stringify({ type: 'response.create', model: 'latest', ...fields }));
  }

  async next(): Promise<Event> {
    await until(() => this.heard.length > this.at);
    return this.heard[this.at++];
  }

  /** Events up to the one that ends a response. */
  async turn(): Promise<Event[]> {
    const events: Event[] = [];
    for (;;) {
      const event = await this.next();
      events.push(event);
      if (/^error$|^response\.(completed|failed|incomplete)$/.test(event.type)) return events;
    }
  }

  /** The last event of a request. */
  async ask(fields: object): Promise<Event> {
    this.send(fields);
    return (await this.turn()).at(-1)!;
  }

  /** The close code of the connection. */
  async closed(): Promise<number> {
    await until(() => this.code !== undefined);
    return this.code!;
  }
}

const idOf = ({ response }: Event): string => response!.id;
const textsOf = (index: number) => {
  const { prompt } = speaker.asked[index];
  if (prompt.kind !== 'conversation') throw new Error('expected a conversation');
  return prompt.conversation.messages.map(({ content }) => content.map(({ text }) => text).join(''));
};

it('answers OpenAI’s own client, with the events of a stream', async () => {
  const client = new OpenAI({ baseURL: `${endpoint.url}/v1`, apiKey: KEY });
  const connection = new ResponsesWS(client);
  const types: string[] = [];
  await new Promise<void>((resolve, reject) => {
    connection.on('event', (event) => {
      types.push(event.type);
      if (event.type === 'response.completed') resolve();
    });
    connection.on('error', reject);
    connection.send({ type: 'response.create', model: 'latest', input: 'hi' });
  });
  connection.close();
  expect(types).toEqual([
    ...[
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
    ],
    ...['response.output_text.delta', 'response.output_text.delta', 'response.output_text.delta'],
    ...[
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ],
  ]);
});

it('answers requests that were sent ahead one after the other, in their order', async () => {
  const caller = await Caller.open();
  let go = (): void => undefined;
  speaker.wait = new Promise<void>((resolve) => (go = resolve));
  for (const input of ['first', 'second', 'third']) caller.send({ input });
  await until(() => speaker.asked.length === 1);
  go();
  const turns = [await caller.turn(), await caller.turn(), await caller.turn()];
  expect(turns.map((events) => events[0].response!.id)).toEqual(turns.map((events) => idOf(events.at(-1)!)));
  expect([0, 1, 2].map(textsOf)).toEqual([['first'], ['second'], ['third']]);
});

describe('a connection', () => {
  it('continues from its newest response, though nothing is stored, and no other connection does', async () => {
    const caller = await Caller.open();
    const first = await caller.ask({ input: 'hi', store: false });
    const second = await caller.ask({ input: 'and now?', store: false, previous_response_id: idOf(first) });
    expect(second.response!.status).toBe('completed');
    expect(textsOf(1)).toEqual(['hi', 'one two three', 'and now?']);
    const other = await Caller.open();
    expect(await other.ask({ input: 'on', store: false, previous_response_id: idOf(second) })).toMatchObject({
      type: 'error',
      status: 400,
      error: { code: 'previous_response_not_found', param: 'previous_response_id' },
    });
    expect((await other.ask({ input: 'anew', store: false })).type).toBe('response.completed');
  });

  it('continues from stored responses of other connections and of HTTP, where the request is stored, too', async () => {
    const client = new OpenAI({ baseURL: `${endpoint.url}/v1`, apiKey: KEY });
    const { id } = await client.responses.create({ model: 'latest', input: 'hi' });
    const caller = await Caller.open();
    const last = await caller.ask({ input: 'on', previous_response_id: id });
    expect(last.type).toBe('response.completed');
    expect(await client.responses.retrieve(idOf(last))).toMatchObject({ previous_response_id: id });
    expect(await caller.ask({ input: 'on', previous_response_id: id, store: false })).toMatchObject({
      error: { code: 'previous_response_not_found' },
    });
  });

  it.each([
    ['what the request says', { input: [{ type: 'function_call_output', call_id: 'none', output: '' }] }],
    ['a field that is unknown', { input: 'on', no_such_field: 1 }],
    ['the policy', { input: 'on', model: 'broken' }],
  ])('forgets a response from which going on failed by %s', async (_what, fields) => {
    const caller = await Caller.open();
    const previous_response_id = idOf(await caller.ask({ input: 'hi', store: false }));
    expect(await caller.ask({ ...fields, store: false, previous_response_id })).toMatchObject({
      type: 'error',
    });
    expect(await caller.ask({ input: 'on', store: false, previous_response_id })).toMatchObject({
      error: { code: 'previous_response_not_found' },
    });
  });

  it('keeps its newest response where a request that does not continue it fails', async () => {
    const caller = await Caller.open();
    const previous_response_id = idOf(await caller.ask({ input: 'hi', store: false }));
    await caller.ask({ input: 'x', model: 'broken' });
    expect((await caller.ask({ input: 'on', store: false, previous_response_id })).type).toBe(
      'response.completed',
    );
  });

  it('stops sampling when its caller is gone', async () => {
    const caller = await Caller.open();
    speaker.wait = new Promise(() => undefined);
    caller.send({ input: 'hi' });
    await until(() => speaker.asked.length === 1);
    expect(speaker.asked[0].signal.aborted).toBe(false);
    caller.socket.terminate();
    await until(() => speaker.asked[0].signal.aborted);
  });

  it('takes no request after its time, and says so when the last answer is whole', async () => {
    const short = await openFor(speaker, { socketLifeMs: 500 });
    const [idle, busy] = [await Caller.open(short), await Caller.open(short)];
    let go = (): void => undefined;
    speaker.wait = new Promise<void>((resolve) => (go = resolve));
    busy.send({ input: 'hi' });
    expect(await idle.next()).toMatchObject({
      type: 'error',
      status: 400,
      error: { code: 'websocket_connection_limit_reached' },
    });
    expect(await idle.closed()).toBe(1008);
    go();
    expect((await busy.turn()).at(-1)?.type).toBe('response.completed');
    expect(await busy.next()).toMatchObject({ error: { code: 'websocket_connection_limit_reached' } });
    await short.close();
  });
});

describe('refused requests', () => {
  it.each([
    ['no JSON', '{"type":', 'invalid_json', null],
    ['no object', '[]', 'invalid_json', null],
    ['another type', '{"type":"response.cancel"}', 'invalid_value', 'type'],
    [
      'a stream',
      '{"type":"response.create","model":"latest","input":"hi","stream":true}',
      'unsupported_parameter',
      'stream',
    ],
    ['no model', '{"type":"response.create","input":"hi"}', 'missing_required_parameter', 'model'],
  ])('a message with %s, and the connection stays open', async (_what, message, code, param) => {
    const caller = await Caller.open();
    caller.socket.send(message);
    expect(await caller.next()).toMatchObject({ type: 'error', status: 400, error: { code, param } });
    caller.socket.send(Buffer.from([1, 2, 3]), { binary: true });
    expect(await caller.next()).toMatchObject({ status: 400, error: { code: 'invalid_json' } });
    expect((await caller.ask({ input: 'hi' })).type).toBe('response.completed');
  });

  it('failures of the server’s own are not told, and one in the middle of an answer ends it', async () => {
    const caller = await Caller.open();
    expect(await caller.ask({ input: 'hi', model: 'broken' })).toMatchObject({
      status: 500,
      error: { code: 'internal_error', message: expect.not.stringContaining('secret') },
    });
    const failing = Promise.reject(new ApiError(503, 'the learner ends', 'no_run'));
    failing.catch(() => undefined);
    speaker.pause = failing;
    caller.send({ input: 'hi' });
    const events = [...(await caller.turn()), await caller.next()];
    expect(events.map(({ type }) => type).slice(-3)).toEqual([
      'response.output_text.delta',
      'error',
      'response.failed',
    ]);
    expect(events.at(-1)?.response).toMatchObject({ status: 'failed', error: { code: 'no_run' } });
  });

  /** Status and body of a rejected upgrade request. */
  async function refusal(url: string, headers: Record<string, string>) {
    const socket = new WebSocket(url, { headers });
    const [, response] = await once(socket, 'unexpected-response');
    const parts: Buffer[] = [];
    for await (const part of response) parts.push(part as Buffer);
    return [response.statusCode, JSON.parse(String(Buffer.concat(parts))).error.code];
  }

  it('a caller without a key, another path, and more connections than the limit', async () => {
    const url = `${endpoint.url.replace('http', 'ws')}/v1/responses`;
    const headers = { authorization: `Bearer ${KEY}` };
    expect(await refusal(url, {})).toEqual([401, 'missing_api_key']);
    expect(await refusal(url, { authorization: 'Bearer another-key-than-this' })).toEqual([
      401,
      'invalid_api_key',
    ]);
    expect(await refusal(`${url}/none`, headers)).toEqual([404, 'not_found']);
    const two = await openFor(speaker, { maxRequests: 2 });
    await Promise.all([Caller.open(two), Caller.open(two)]);
    const full = `${two.url.replace('http', 'ws')}/v1/responses`;
    expect(await refusal(full, headers)).toEqual([429, 'rate_limit_exceeded']);
    await two.close();
  });

  it('a message that is too long, and requests beyond those that may wait', async () => {
    const caller = await Caller.open();
    caller.send({ input: 'x'.repeat(200_000) });
    expect(await caller.closed()).toBe(1009);
    const hasty = await Caller.open();
    let go = (): void => undefined;
    speaker.wait = new Promise<void>((resolve) => (go = resolve));
    for (let index = 0; index < 17; index += 1) hasty.send({ input: 'hi' });
    expect(await hasty.next()).toMatchObject({ status: 429, error: { code: 'rate_limit_exceeded' } });
    go();
    for (let index = 0; index < 16; index += 1) await hasty.turn();
  });
});

it('cuts off a caller that pings and reads no pong', async () => {
  const { socket } = await Caller.open();
  socket.on('error', () => undefined).pause();
  const megabytes = 60;
  let sent = 0;
  for (let isCutOff = false; sent < megabytes && !isCutOff; sent += 1) {
    for (let index = 1; index < 8_000; index += 1) socket.ping('x'.repeat(125));
    isCutOff = await new Promise((resolve) =>
      socket.ping('x'.repeat(125), true, (error: unknown) => resolve(error instanceof Error)),
    );
  }
  expect(sent).toBeLessThan(megabytes);
});

it('serves sessions at their own addresses, and closes with the server', async () => {
  const directory = new (class extends PolicyDirectory {
    policyOf(session: string | undefined): ServedPolicy {
      if (session === 'known') return speaker;
      throw new ApiError(404, 'there is no such session', 'session_over');
    }
  })();
  const sessions = await openFor(speaker, { directory, path: 'sessions/:session' });
  const caller = await Caller.open(sessions, '/sessions/known/v1/responses');
  expect((await caller.ask({ input: 'hi' })).type).toBe('response.completed');
  await expect(Caller.open(sessions, '/sessions/other/v1/responses')).rejects.toThrow('404');
  await expect(Caller.open(sessions)).rejects.toThrow('404');
  await sessions.close();
  expect(await caller.closed()).toBe(1001);
});

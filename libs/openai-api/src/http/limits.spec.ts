import { once } from 'node:events';
import { request as ask, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { crc32, deflateSync, gzipSync } from 'node:zlib';
import { Logger } from '@nestjs/common';
import { eventually } from '@ui-rl/testkit';
import { WebSocket } from 'ws';
import { KEY, openFor, Speaker } from '../../test/speaker';
import { ConversationBuilder } from '../conversation';
import type { Endpoint } from './server';

const speaker = new Speaker();
const opened: Endpoint[] = [];
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(opened.splice(0).map((endpoint) => endpoint.close()));
  speaker.says = 'one two three';
});

async function open(changes: Parameters<typeof openFor>[1] = {}): Promise<Endpoint> {
  const endpoint = await openFor(speaker, changes);
  opened.push(endpoint);
  return endpoint;
}

interface Sent {
  headers?: Record<string, string | number>;
  body?: string | Buffer;
}

async function post({ url }: Endpoint, { headers = {}, body = '' }: Sent, path = '/v1/chat/completions') {
  const sent = ask(`${url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', ...headers },
    agent: false,
  });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  return { status: response.statusCode, body: JSON.parse(String(Buffer.concat(parts))) };
}

/** A connection that has sent a text. */
async function raw({ url }: Endpoint, text = ''): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(text);
  return socket;
}

const head = (fields: string[]) =>
  [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: 127.0.0.1',
    `Authorization: Bearer ${KEY}`,
    'Content-Type: application/json',
    ...fields,
    '',
    '',
  ].join('\r\n');
const hello = JSON.stringify({ model: 'latest', messages: [{ role: 'user', content: 'hi' }] });

it('answers no page of another site, for any request that browsers allow without permission', async () => {
  const endpoint = await open({ keys: [] });
  for (const origin of ['https://site.example', 'null', 'http://127.0.0.1.site.example']) {
    expect(await post(endpoint, { headers: { origin }, body: hello })).toMatchObject({
      status: 403,
      body: { error: { type: 'permission_error', code: 'foreign_origin' } },
    });
    const socket = new WebSocket(`${endpoint.url.replace('http', 'ws')}/v1/responses`, { origin });
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
    expect(response.statusCode).toBe(403);
    socket.on('error', () => undefined).terminate();
  }
  expect((await post(endpoint, { headers: { origin: 'http://localhost:3000' }, body: hello })).status).toBe(
    200,
  );
});

it('reads no more bodies at a time than there is memory for', async () => {
  const endpoint = await open({ maxRequests: 8 });
  const slow = await raw(endpoint, head(['Content-Length: 90000']) + '{');
  const full = async (sent: Sent) => (await post(endpoint, sent)).status === 429;
  await eventually('the body of the slow caller is being read', () => full({ body: hello.padEnd(90_000) }));
  // However short it is, it may decompress to any length.
  expect(await full({ body: gzipSync(hello), headers: { 'content-encoding': 'gzip' } })).toBe(true);
  expect((await post(endpoint, { body: hello })).status).toBe(200);
  const socket = new WebSocket(`${endpoint.url.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${KEY}` },
  });
  await once(socket, 'open');
  socket.send(hello.padEnd(90_000));
  const [event] = (await once(socket, 'message')) as [Buffer];
  expect(JSON.parse(String(event))).toMatchObject({ status: 429, error: { code: 'rate_limit_exceeded' } });
  socket.terminate();
  slow.destroy();
  await eventually('its memory is free', async () => !(await full({ body: hello.padEnd(90_000) })));
});

it('unpacks nothing beyond the limit', async () => {
  const endpoint = await open();
  const bomb = gzipSync(Buffer.alloc(50_000_000, ' '));
  const { status } = await post(endpoint, { body: bomb, headers: { 'content-encoding': 'gzip' } });
  expect([bomb.byteLength < 100_000, status]).toEqual([true, 413]);
});

it('cuts off a caller who does not read a whole answer', async () => {
  const endpoint = await open({ unreadMs: 200 });
  speaker.says = 'x'.repeat(40_000_000);
  speaker.asked.length = 0;
  const socket = await raw(endpoint, head([`Content-Length: ${hello.length}`]) + hello);
  socket.pause();
  await eventually('it was answered', () => speaker.asked.length > 0 && endpoint.active === 0);
  await new Promise((resolve) => setTimeout(resolve, 600));
  let bytes = 0;
  socket.on('data', (data) => (bytes += data.length));
  socket.resume();
  await once(socket, 'close');
  expect(bytes).toBeLessThan(40_000_000);
});

it('keeps to a number of connections, idle ones included, and works on when they are gone', async () => {
  const endpoint = await open({ maxRequests: 1 });
  const idle = await Promise.all(Array.from({ length: 40 }, () => raw(endpoint)));
  let closed = 0;
  for (const socket of idle) socket.on('close', () => (closed += 1)).resume();
  await eventually('those beyond the limit are closed', () => closed >= 24);
  expect(closed).toBe(24);
  for (const socket of idle) socket.destroy();
  const answer = await eventually('others are answered', () => post(endpoint, { body: hello }));
  expect(answer.status).toBe(200);
});

it('writes no key and nothing of a request into the log', async () => {
  const lines: unknown[] = [];
  const write = (...said: unknown[]) => void lines.push(...said);
  Logger.overrideLogger({
    log: write,
    error: write,
    warn: write,
    debug: write,
    verbose: write,
    fatal: write,
  });
  try {
    const endpoint = await open();
    const said = JSON.stringify({ model: 'broken', messages: [{ role: 'user', content: 'my-own-words' }] });
    expect((await post(endpoint, { body: said })).status).toBe(500);
    await post(endpoint, { body: said, headers: { authorization: 'Bearer a-wrong-key-of-a-stranger' } });
    await post(endpoint, { body: said.slice(0, -5) });
  } finally {
    Logger.overrideLogger(false);
  }
  expect(lines.length).toBeGreaterThan(0);
  expect(JSON.stringify(lines)).not.toMatch(/my-own-words|a-wrong-key|a-key-for-tests/);
});

/** A PNG header with this size, without pixels. */
function hollow(width: number, height: number): string {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const size = Buffer.alloc(13);
  size.writeUInt32BE(width, 0);
  size.writeUInt32BE(height, 4);
  size.set([8, 2, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const parts = [
    chunk('IHDR', size),
    chunk('IDAT', deflateSync(Buffer.alloc(1))),
    chunk('IEND', Buffer.alloc(0)),
  ];
  return `data:image/png;base64,${Buffer.concat([signature, ...parts]).toString('base64')}`;
}

describe('images', () => {
  const svg = `data:image/svg+xml;base64,${Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64')}`;

  it.each([
    ['a format that is not read', svg, /are not a PNG, JPEG, WebP or GIF/],
    ['far more pixels than bytes', hollow(100_000, 100_000), /cannot be decoded/],
    ['nothing in it', 'data:image/png;base64,', /0 bytes/],
    ['an address', 'file:///etc/passwd', /addresses are not fetched/],
  ])('with %s are refused', async (_what, url, message) => {
    await expect(new ConversationBuilder().image(url, 'at')).rejects.toThrow(message);
  });

  it('have a number of pixels together', async () => {
    const builder = new ConversationBuilder();
    for (let index = 0; index < 4; index += 1) await builder.image(hollow(8_192, 8_192), 'at');
    await expect(builder.image(hollow(1, 1), 'at')).rejects.toThrow(/too many pixels together/);
  });
});

describe('content that is none', () => {
  const deep = '['.repeat(20_000) + ']'.repeat(20_000);
  const contents = [
    ...[
      '7',
      'true',
      '{}',
      '[null]',
      '[7]',
      '[[]]',
      '[{}]',
      '[{"type":7}]',
      '[{"type":"text","text":7}]',
      deep,
    ],
    ...[
      '[{"type":"image_url"}]',
      '[{"type":"image_url","image_url":null}]',
      '[{"type":"image_url","image_url":{"url":7}}]',
    ],
    ...['[{"type":"input_image","image_url":7}]', '[{"type":"input_image","image_url":{"url":"data:"}}]'],
    ...['[{"type":"__proto__"}]', '[{"type":"constructor","text":"x"}]', '{"__proto__":{"length":1}}'],
  ];

  it('is refused with status 400 in chats and responses', async () => {
    const endpoint = await open();
    speaker.asked.length = 0;
    for (const content of contents) {
      const message = `[{"role":"user","content":${content}}]`;
      const chat = await post(endpoint, { body: `{"model":"latest","messages":${message}}` });
      const response = await post(
        endpoint,
        { body: `{"model":"latest","input":${message}}` },
        '/v1/responses',
      );
      expect([content.slice(0, 80), chat.status, response.status]).toEqual([content.slice(0, 80), 400, 400]);
    }
    expect(speaker.asked).toEqual([]);
  });
});

import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { freePort, ZerosServer } from '@ui-rl/testkit';
import { isLinkLocal, lookupWith } from './addresses';
import { boundedFetch, fetchFailure } from './bounded-fetch';

const MIB = 2 ** 20;
let server: Server;
let base: string;
let handle: RequestListener;
let zeros: ZerosServer;

beforeAll(async () => {
  zeros = await ZerosServer.start();
  server = createServer((request, response) => {
    response.on('error', () => undefined);
    handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await zeros.stop();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

it('gives an answer within the limit as it is', async () => {
  handle = (request, response) => {
    response.setHeader('x-method', request.method!).writeHead(201).end('héllo');
  };
  const response = await boundedFetch({ maxBytes: 6, isTrusted: true })(base, { method: 'POST', body: 'x' });
  expect([response.status, response.headers.get('x-method')]).toEqual([201, 'POST']);
  expect(await response.text()).toBe('héllo');
});

it.each(['/endless', '/bomb'])('stops reading %s at the limit', async (path) => {
  const response = await boundedFetch({ maxBytes: 2 * MIB })(zeros.address + path);
  await expect(response.text()).rejects.toThrow(`answered more than ${2 * MIB} bytes`);
  // A compressed response fits completely into socket buffers.
  if (path === '/endless') expect(zeros.sentBytes).toBeLessThan(200 * MIB);
});

it('gives an answer without a body', async () => {
  handle = (_request, response) => void response.writeHead(204).end();
  const response = await boundedFetch({ maxBytes: 1 })(base);
  expect([response.status, await response.text()]).toEqual([204, '']);
});

it('ends with the signal of its caller while the body drips', async () => {
  const over = new AbortController();
  handle = (_request, response) => {
    response.write('one');
    setTimeout(() => over.abort(new Error('enough')), 50);
  };
  const response = await boundedFetch({ maxBytes: MIB })(base, { signal: over.signal });
  await expect(response.text()).rejects.toThrow('enough');
});

const LINK_LOCAL = [
  '169.254.169.254',
  '[fe80::1]',
  '[::ffff:169.254.169.254]',
  '[::169.254.169.254]',
  '[::ffff:0:169.254.169.254]',
  '[64:ff9b::169.254.169.254]',
  '[64:ff9b:1::a9fe:a9fe]',
  '[2002:a9fe:a9fe::1]',
  '168.63.129.16',
];

it.each(LINK_LOCAL)('refuses %s, also behind a redirect', async (host) => {
  const refused = { cause: { name: 'LinkLocalRefused' } };
  const ask = boundedFetch({ maxBytes: MIB });
  await expect(ask(`http://${host}/latest`)).rejects.toMatchObject(refused);
  handle = (_request, response) => void response.writeHead(307, { location: `http://${host}/latest` }).end();
  await expect(ask(base)).rejects.toMatchObject(refused);
});

it('tells link-local addresses from others', () => {
  const others = [
    '8.8.8.8',
    '10.0.0.1',
    '127.0.0.1',
    '::1',
    '2002:808:808::1',
    '64:ff9b::8.8.8.8',
    'fd00::1',
  ];
  expect(others.filter(isLinkLocal)).toEqual([]);
});

it('skips link-local addresses of a name, and fails where there are no others', async () => {
  const addresses = ['169.254.169.254', '10.0.0.7'].map((address) => ({ address, family: 4 }));
  const resolved = (found: typeof addresses): Promise<unknown[]> => {
    const resolver = (_host: string, _options: object, done: (...found: unknown[]) => void) =>
      done(null, found);
    return new Promise((resolve) =>
      lookupWith(resolver as never)('x.test', { all: true }, (...found) => resolve(found)),
    );
  };
  expect(await resolved(addresses)).toEqual([null, addresses.slice(1)]);
  const [error] = await resolved(addresses.slice(0, 1));
  expect(String(error)).toContain('x.test resolves to 169.254.169.254, a link-local address');
});

it.each([
  [
    'a port without a server',
    async () => boundedFetch({ maxBytes: 1 })(`http://127.0.0.1:${await freePort()}`),
    'ECONNREFUSED',
  ],
  [
    'a deadline',
    () => boundedFetch({ maxBytes: 1 })(`${zeros.address}/endless`, { signal: AbortSignal.timeout(0) }),
    'The operation was aborted due to timeout',
  ],
])('says why %s is an end', async (_name, ask, reason) => {
  const error: unknown = await ask().catch((found: unknown) => found);
  expect(fetchFailure(error)).toBe(`cannot be reached: ${reason}`);
});

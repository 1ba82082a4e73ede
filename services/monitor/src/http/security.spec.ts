import { createHash } from 'node:crypto';
import { createServer, request as ask, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import type { ListensAt } from '../page-addresses';
import { security } from './security';

const TOKEN = 'a-token-of-the-lab';
const HTML = { accept: 'text/html,*/*' };

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

let server: Server | undefined;

afterEach(() => {
  server?.close();
  server?.closeAllConnections();
});

/** A server that always answers "in", behind the page's access control. */
async function listen(listens: Omit<ListensAt, 'port'>, token?: string): Promise<void> {
  const guard = security({ ...listens, port: 0 }, token);
  server = createServer((request, response) => guard(request, response, () => response.end('in')));
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
}

function get(
  path: string,
  headers: Record<string, string> = {},
  form?: string,
  method = form === undefined ? 'GET' : 'POST',
): Promise<Answer> {
  const { port } = server!.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    const asked = ask({ port, host: '127.0.0.1', path, method, headers }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (part: string) => (body += part));
      response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, body }));
    });
    asked.on('error', reject).end(form);
  });
}

const statusAs = async (host: string) => (await get('/api/runs', { host })).status;

describe('names', () => {
  it('of a page for this machine alone are those of the loopback', async () => {
    await listen({ host: '127.0.0.1' });
    for (const host of ['localhost:8080', '127.0.0.1', '[::1]:80', 'LOCALHOST'])
      expect(await statusAs(host)).toBe(200);
    for (const host of ['evil.example', '192.168.1.4', '127.0.0.1.evil.example', 'localhost.evil.example'])
      expect(await statusAs(host)).toBe(421);
  });

  it('of a page that others reach are addresses, its machine and what its operator calls it', async () => {
    await listen({ host: '0.0.0.0', publicUrl: 'https://lab.example/monitor' }, undefined);
    for (const host of ['192.168.1.4:8080', '[fe80::1]:8080', `${hostname()}:80`, 'lab.example', 'localhost'])
      expect(await statusAs(host)).toBe(200);
    expect(await statusAs('evil.example')).toBe(421);
    expect((await get('/', { host: 'evil.example' })).body).toContain('MONITOR_URL');
  });
});

it('a request that changes something is refused from the pages of other addresses', async () => {
  await listen({ host: '127.0.0.1' });
  const as = async (site?: string) =>
    (await get('/api/runs/a', site === undefined ? {} : { 'sec-fetch-site': site }, '{}', 'PATCH')).status;
  for (const site of ['cross-site', 'same-site', 'anything']) expect(await as(site)).toBe(403);
  for (const site of ['same-origin', 'none', undefined]) expect(await as(site)).toBe(200);
  expect((await get('/', { 'sec-fetch-site': 'cross-site' })).status).toBe(200);
});

describe('the token', () => {
  beforeEach(() => listen({ host: '0.0.0.0' }, TOKEN));

  it('is asked for by everything but the address that says who this is', async () => {
    for (const path of [
      '/',
      '/api/runs',
      '/health',
      '/index.html',
      '/api/monitor/../runs',
      '/api/monitor?x=1',
    ]) {
      const answer = await get(path);
      expect(answer.status).toBe(401);
      expect(answer.body).not.toContain('in"');
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
    }
    expect((await get('/api/monitor')).body).toBe('in');
    expect((await get('/api/runs/demo', {}, '{"archived":true}', 'PATCH')).status).toBe(401);
  });

  it('opens as a header', async () => {
    const as = async (authorization: string) => (await get('/api/runs', { authorization })).status;
    expect(await as(`Bearer ${TOKEN}`)).toBe(200);
    for (const wrong of [`Bearer ${TOKEN}x`, 'Bearer ', `Basic ${TOKEN}`, TOKEN])
      expect(await as(wrong)).toBe(401);
  });

  it('is typed into a form, once: then a cookie opens that scripts cannot read', async () => {
    const asked = await get('/?a=b', HTML);
    expect(asked).toMatchObject({ status: 401, body: expect.stringMatching(/<form method="post">/) });
    expect(asked.headers['content-security-policy']).toContain("form-action 'self'");
    expect(asked.body).not.toContain('role="alert"');
    const wrong = await get('/?a=b', HTML, 'token=wrong');
    expect(wrong).toMatchObject({
      status: 401,
      body: expect.stringMatching(/role="alert">This is not the token/),
    });
    expect(wrong.body).not.toContain('wrong');
    const [, style] = /<style>(.*?)<\/style>/s.exec(wrong.body)!;
    const hash = createHash('sha256').update(style).digest('base64');
    expect(wrong.headers['content-security-policy']).toContain(`style-src 'sha256-${hash}'`);
    const opened = await get('/?a=b', HTML, `token=${TOKEN}`);
    expect(opened).toMatchObject({ status: 303, headers: { location: './?a=b' } });
    const [cookie] = opened.headers['set-cookie']!;
    expect(cookie).toMatch(/; HttpOnly; SameSite=Lax$/);
    expect(cookie).not.toContain(TOKEN);
    const [pair] = cookie.split(';');
    expect((await get('/api/runs', { cookie: `other=1; ${pair}` })).body).toBe('in');
    expect((await get('/api/runs', { cookie: `${pair}x` })).status).toBe(401);
  });

  it('leads nowhere else, and a form that does not end is not read', async () => {
    const { headers } = await get('//evil.example/x', HTML, `token=${TOKEN}`);
    expect(headers.location).toBe('./x');
    const endless = await get('/', HTML, `token=${'x'.repeat(10_000)}`).catch(() => ({ status: 401 }));
    expect(endless.status).toBe(401);
  });
});

it('a cookie is for https alone where the page is', async () => {
  await listen({ host: '127.0.0.1', publicUrl: 'https://lab.example' }, TOKEN);
  const { headers } = await get('/', { ...HTML, host: 'lab.example' }, `token=${TOKEN}`);
  expect(headers['set-cookie']![0]).toMatch(/; Secure$/);
});

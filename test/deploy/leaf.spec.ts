import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { essentials, eventually, findNatsServer, freePort, Launched } from '@ui-rl/testkit';
import { selfSigned } from './certificate';

const ROOT = resolve(__dirname, '../..');
const CREDENTIALS = join(ROOT, 'deploy/nats/credentials.mjs');
const LEAVES = join(ROOT, 'deploy/kubernetes/overlays/leaf/leaves.conf');
const TLS_HANDSHAKE = 0x16;

describe('a leaf node and the brokers of overlays/leaf', () => {
  let folder: string;
  let monitoring: number;
  let hub: Launched;
  const leaves: Launched[] = [];
  const file = (...names: string[]) => join(folder, ...names);

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'uirl-leaf-'));
    const [clients, routes, port] = [await freePort(), await freePort(), await freePort()];
    monitoring = await freePort();
    const urls = `nats://127.0.0.1:${clients},nats://127.0.0.1:${clients + 1}`;
    const behind = ['--leaf', 'actor,env', '--leaf-url', `tls://localhost:${port}`];
    execFileSync(process.execPath, [CREDENTIALS, file('users'), urls, ...behind], { stdio: 'pipe' });
    copyFileSync(LEAVES, file('users', 'leaves.conf'));
    const { certificate, key } = selfSigned('localhost');
    writeFileSync(file('tls.crt'), certificate);
    writeFileSync(file('tls.key'), key);
    change('cluster.conf', {
      '0.0.0.0:4222': `127.0.0.1:${clients}`,
      '0.0.0.0:6222': `127.0.0.1:${routes}`,
      '/var/lib/nats': file('store'),
    });
    change('leaves.conf', { '0.0.0.0:7422': `127.0.0.1:${port}`, '/etc/nats-tls': folder });
    const options = ['-n', 'hub', '-m', String(monitoring)];
    hub = Launched.start(findNatsServer(), ['-c', file('users', 'leaves.conf'), ...options]);
    await hub.prints(/Server is ready/);
  }, 60_000);

  afterAll(async () => {
    await Promise.all([hub, ...leaves].map((server) => server.stop(5_000)));
    rmSync(folder, { recursive: true, force: true });
  });

  function change(name: string, places: Record<string, string>): void {
    let text = readFileSync(file('users', name), 'utf8');
    for (const [from, to] of Object.entries(places)) {
      expect(text).toContain(from);
      text = text.replaceAll(from, to);
    }
    writeFileSync(file('users', name), text);
  }

  /** The leaf-node broker; it trusts the certificates of this file. */
  async function startLeaf(trusted: string, remotes = './remotes.conf'): Promise<Launched> {
    const config = file('users', 'leaf', `here-${leaves.length}.conf`);
    const text = readFileSync(file('users', 'leaf', 'leaf.conf'), 'utf8');
    const place = `127.0.0.1:${await freePort()}`;
    writeFileSync(config, text.replace('127.0.0.1:4222', place).replace('./remotes.conf', remotes));
    const leaf = Launched.start(findNatsServer(), ['-c', config], {
      env: { ...essentials(), SSL_CERT_FILE: trusted, SSL_CERT_DIR: '/nowhere' },
    });
    leaves.push(leaf);
    return leaf;
  }

  async function connected(): Promise<string[]> {
    const answer = await fetch(`http://127.0.0.1:${monitoring}/leafz`);
    const { leafs } = (await answer.json()) as { leafs: { account: string }[] | null };
    return (leafs ?? []).map(({ account }) => account).toSorted((a, b) => a.localeCompare(b));
  }

  it('connect where it trusts their certificate, each of its users to the account of that user', async () => {
    const stranger = await startLeaf('/dev/null');
    await stranger.prints(/certificate signed by unknown authority|x509/);
    expect(await connected()).toEqual([]);
    await stranger.stop(5_000);
    const leaf = await startLeaf(file('tls.crt'));
    await eventually('both users', async () => (await connected()).length === 2);
    expect(await connected()).toEqual(['UIRL_ACTOR', 'UIRL_ENV']);
    expect(leaf.running).toBe(true);
  }, 60_000);

  it('a client without TLS gets no password', async () => {
    const heard: Buffer[] = [];
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (data) => void heard.push(data));
      const info = { server_id: 'X', client_id: 1, max_payload: 2 ** 20, headers: true, tls_required: false };
      socket.write(`INFO ${JSON.stringify({ ...info, leafnode_urls: ['127.0.0.1:7422'] })}\r\n`);
    });
    const port = await freePort();
    await new Promise<void>((done) => server.listen(port, '127.0.0.1', done));
    const text = readFileSync(file('users', 'leaf', 'remotes.conf'), 'utf8');
    const remotes = file('users', 'leaf', 'elsewhere.conf');
    writeFileSync(remotes, text.replaceAll(/@localhost:\d+/g, `@localhost:${port}`));
    const leaf = await startLeaf(file('tls.crt'), './elsewhere.conf');
    await eventually('words of the leaf node', () => heard.length > 0);
    for (const data of heard) expect(data[0]).toBe(TLS_HANDSHAKE);
    await leaf.stop(5_000);
    await new Promise((done) => server.close(done));
  }, 30_000);

  it.each([
    [['--leaf-url', 'tls://a:1'], '--leaf-url says where a leaf node calls'],
    [['--leaf', 'actor', '--leaf-url', 'https://a'], '--leaf-url: invalid leaf node address https://a'],
  ])('credentials.mjs refuses %j', (options, said) => {
    const brokers = 'nats://a:4222,nats://b:4222';
    const { status, stderr } = spawnSync(process.execPath, [CREDENTIALS, file('none'), brokers, ...options]);
    expect([status, stderr.toString()]).toEqual([1, expect.stringContaining(said)]);
  });
});

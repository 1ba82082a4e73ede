import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { isPrivate, isPrivateHost, type Address, type Resolve } from './addresses';
import { Gateway } from './gateway';

const NAME = 'shop.example';

/** Connects through the gateway. Returns the reply code and the first data from the target. */
async function ask(gateway: Gateway, host: string, port: number): Promise<{ code: number; said: string }> {
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  const received: Buffer[] = [];
  socket.on('data', (chunk) => received.push(chunk));
  const portBytes = [port >> 8, port & 255];
  socket.write(Buffer.from([5, 1, 0]));
  // Sent in two parts, as TCP may deliver it.
  socket.write(Buffer.from([5, 1, 0, 3, host.length, ...Buffer.from(host.slice(0, 3))]));
  setTimeout(() => socket.write(Buffer.from([...Buffer.from(host.slice(3)), ...portBytes])), 20);
  await new Promise((resolve) => socket.once('close', resolve));
  const all = Buffer.concat(received);
  return { code: all[3], said: all.subarray(12).toString() };
}

describe('the way of a page to the network', () => {
  const refused: string[] = [];
  let here: Server;
  let elsewhere: Server;
  let port: number;
  let gateway: Gateway | undefined;

  const greeting = (text: string) => (socket: Socket) => void socket.on('error', () => {}).end(text);
  const listen = (server: Server, at: number, address: string) =>
    new Promise<void>((resolve) => server.listen(at, address, resolve));

  beforeAll(async () => {
    here = createServer(greeting('here'));
    elsewhere = createServer(greeting('elsewhere'));
    await listen(here, 0, '127.0.0.1');
    port = (here.address() as AddressInfo).port;
    await listen(elsewhere, port, '127.0.0.2');
  });
  afterAll(() => {
    here.close();
    elsewhere.close();
  });
  afterEach(() => {
    gateway?.close();
    refused.length = 0;
  });

  async function open(origins: string[], privateOrigins: string[], resolve?: Resolve): Promise<Gateway> {
    gateway = await Gateway.open({
      origins,
      privateOrigins,
      resolve,
      onRefused: (reason) => refused.push(reason),
    });
    return gateway;
  }

  const at = (...addresses: string[]): Address[] => addresses.map((address) => ({ address, family: 4 }));

  it('leads to host and port of an allowed origin', async () => {
    const origin = `http://127.0.0.1:${port}`;
    expect(await ask(await open([origin], [origin]), '127.0.0.1', port)).toEqual({ code: 0, said: 'here' });
  });

  it.each([
    ['another port', () => ['127.0.0.1', port + 1]],
    ['another name of the same host', () => ['localhost', port]],
    ['the port that a default port is not', () => ['127.0.0.2', port]],
  ])('does not lead to %s', async (_name, target) => {
    const origins = [`http://127.0.0.1:${port}`, 'http://127.0.0.2'];
    const [host, to] = target() as [string, number];
    expect(await ask(await open(origins, origins), host, to)).toEqual({ code: 2, said: '' });
    expect(refused).toEqual([`${host}:${to} is not allowed`]);
  });

  it('leads a name to the same address for as long as the page is open', async () => {
    const origin = `http://${NAME}:${port}`;
    const answers = [at('127.0.0.1'), at('127.0.0.2')];
    const way = await open([origin], [origin], () => Promise.resolve(answers.shift()!));
    expect(await ask(way, NAME, port)).toEqual({ code: 0, said: 'here' });
    expect(await ask(way, NAME, port)).toEqual({ code: 0, said: 'here' });
  });

  it.each([
    ['this machine', ['127.0.0.1']],
    ['a private network', ['10.1.2.3']],
    ['the metadata of a cloud', ['169.254.169.254']],
    ['a public address and a private one', ['93.184.215.14', '127.0.0.1']],
  ])('does not lead a name to %s', async (_name, addresses) => {
    const origin = `http://${NAME}:${port}`;
    const way = await open([origin], [], () => Promise.resolve(at(...addresses)));
    expect(await ask(way, NAME, port)).toEqual({ code: 2, said: '' });
    expect(refused).toEqual([expect.stringMatching(new RegExp(`^${NAME} leads to ${addresses.at(-1)}`))]);
  });

  it('asks again for a name that had no address', async () => {
    const origin = `http://${NAME}:${port}`;
    const answers = [() => Promise.reject(new Error('ENOTFOUND')), () => Promise.resolve(at('127.0.0.1'))];
    const way = await open([origin], [origin], () => answers.shift()!());
    expect(await ask(way, NAME, port)).toEqual({ code: 4, said: '' });
    expect(await ask(way, NAME, port)).toEqual({ code: 0, said: 'here' });
  });

  it('says that nothing listens', async () => {
    const origin = 'http://127.0.0.1:9';
    expect(await ask(await open([origin], [origin]), '127.0.0.1', 9)).toEqual({ code: 4, said: '' });
  });

  it('closes open connections, and connections that do not speak SOCKS', async () => {
    const origin = `http://127.0.0.1:${port}`;
    const way = await open([origin], [origin]);
    const socket = connect(Number(new URL(way.url).port), '127.0.0.1')
      .on('error', () => undefined)
      .resume();
    socket.write('GET / HTTP/1.1\r\n\r\n');
    await new Promise((resolve) => socket.once('close', resolve));
    expect(socket.bytesRead).toBe(0);
    const waiting = connect(Number(new URL(way.url).port), '127.0.0.1')
      .on('error', () => undefined)
      .resume();
    await new Promise((resolve) => waiting.once('connect', resolve));
    const ended = new Promise((resolve) => waiting.once('close', resolve));
    setTimeout(() => way.close(), 50);
    await ended;
  });
});

describe('addresses', () => {
  it.each([
    '127.0.0.1',
    '10.0.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '100.100.100.200',
    '169.254.169.254',
    '168.63.129.16',
    '0.0.0.0',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1',
    'fd00:ec2::254',
    '::ffff:10.0.0.1',
    '::ffff:a9fe:a9fe',
    '64:ff9b::a9fe:a9fe',
    '2002:7f00:1::',
    '::10.0.0.1',
    '::ffff:0:10.0.0.1',
    'fec0::1',
  ])('%s is not the open internet', (address) => expect(isPrivate(address)).toBe(true));

  it.each(['93.184.215.14', '8.8.8.8', '172.32.0.1', '2606:4700::1111', '::ffff:8.8.8.8'])(
    '%s is',
    (address) => expect(isPrivate(address)).toBe(false),
  );

  it('are known by the names that always lead to them', () => {
    expect(['localhost', 'a.localhost', '127.0.0.1'].map(isPrivateHost)).toEqual([true, true, true]);
    expect(['example.com', 'localhost.example.com'].map(isPrivateHost)).toEqual([false, false]);
  });
});

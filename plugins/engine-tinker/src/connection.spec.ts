import { ZerosServer } from '@ui-rl/testkit';
import { Connection } from './connection';

let server: ZerosServer;
beforeAll(async () => (server = await ZerosServer.start()));
afterAll(() => server.stop());

const connectionTo = (address: string): Connection =>
  new Connection({ address, key: undefined, timeoutMs: 60_000, retryMs: 0 });

it('gives up an answer of 4 GiB at its limit, once', async () => {
  await expect(connectionTo(`${server.address}/bomb`).post('forward', {})).rejects.toMatchObject({
    category: 'worker',
    message: `${server.address}/bomb/api/v1/forward answered more than 134217728 bytes`,
  });
});

it('asks no link-local address that a run file names', async () => {
  await expect(connectionTo('http://[fe80::1]').get('healthz')).rejects.toThrow(/is a link-local address/);
});

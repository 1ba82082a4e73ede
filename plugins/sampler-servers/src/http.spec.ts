import { ZerosServer } from '@ui-rl/testkit';
import { call, callJson } from './http';

let server: ZerosServer;
beforeAll(async () => (server = await ZerosServer.start()));
afterAll(() => server.stop());

/** Reading 64 MiB takes 20 s beside other work; only the size may end it. */
const timeoutMs = 300_000;
const at = (address: string) => ({ address, apiKey: undefined, timeoutMs });

it.each(['/endless', '/bomb'])(
  'gives up an answer like %s at its limit',
  async (path) => {
    await expect(callJson(at(server.address + path), '/v1/completions', {})).rejects.toThrow(
      /\/v1\/completions answered more than 67108864 bytes/,
    );
  },
  300_000,
);

it('asks no link-local address that a run file names', async () => {
  await expect(call(at('http://169.254.169.254'), '/health')).rejects.toThrow(
    'http://169.254.169.254/health cannot be reached: 169.254.169.254 is a link-local address, which is not allowed here',
  );
});

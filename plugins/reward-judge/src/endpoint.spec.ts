import { ZerosServer } from '@ui-rl/testkit';
import { Endpoint } from './endpoint';
import { JudgeOptions } from './options';

const log = (): void => undefined;

function vote(base_url: string): Promise<unknown> {
  const options = Object.assign(new JudgeOptions(), { base_url, model: 'm' });
  const signal = new AbortController().signal;
  return new Endpoint(options, undefined, log).vote('s', [], { signal, deadlineAt: Date.now() + 60_000 });
}

it.each(['/endless', '/bomb'])('gives up an answer like %s at its limit', async (path) => {
  const server = await ZerosServer.start();
  try {
    await expect(vote(`${server.address}${path}/v1`)).rejects.toThrow(/: answered more than 4194304 bytes$/);
  } finally {
    await server.stop();
  }
});

it.each(['169.254.169.254', '[64:ff9b::a9fe:a9fe]'])(
  'does not ask %s, a link-local address',
  async (host) => {
    await expect(vote(`http://${host}/v1`)).rejects.toThrow(
      /cannot be reached: .* is a link-local address, which is not allowed here/,
    );
  },
);

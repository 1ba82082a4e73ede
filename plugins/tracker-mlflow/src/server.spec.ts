import { ZerosServer } from '@ui-rl/testkit';
import { Server } from './server';

it('gives up an endless answer at its limit', async () => {
  const zeros = await ZerosServer.start();
  try {
    const server = new Server({ uri: `${zeros.address}/endless` }, 30_000);
    await expect(server.get('runs/get', { run_id: 'a' })).rejects.toThrow(
      /^runs\/get: .* answered more than 67108864 bytes$/,
    );
  } finally {
    await zeros.stop();
  }
});

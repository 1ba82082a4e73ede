import { ZerosServer } from '@ui-rl/testkit';
import { HubClient } from './client';

it('reads no endless list of files', async () => {
  const server = await ZerosServer.start();
  try {
    const client = await HubClient.create({ endpoint: `${server.address}/bomb`, cacheDir: '/nowhere' });
    await expect(client.files('org/model', 'main')).rejects.toThrow(/answered more than 67108864 bytes$/);
  } finally {
    await server.stop();
  }
});

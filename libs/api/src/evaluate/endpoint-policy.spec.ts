import { ZerosServer } from '@ui-rl/testkit';
import { EndpointPolicy } from './endpoint-policy';

it('says that an endpoint answers too much, and reads no more of it', async () => {
  const server = await ZerosServer.start();
  try {
    const policy = new EndpointPolicy({
      address: `${server.address}/bomb/v1`,
      model: 'm',
      onWarning: () => undefined,
    });
    await expect(policy.check({ maxTokens: 8, temperature: 1, topP: 1, seed: 0 })).rejects.toThrow(
      `m at ${server.address}/bomb/v1 answered more than 16777216 bytes`,
    );
  } finally {
    await server.stop();
  }
});

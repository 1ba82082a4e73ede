import { freePort, startFromSource } from '@ui-rl/testkit';

it('ends in order when it is asked to while it waits for NATS', async () => {
  const service = startFromSource('actor', { NATS_URL: `nats://127.0.0.1:${await freePort()}` });
  await service.prints(/waiting for NATS at nats:\/\/127\.0\.0\.1/);
  expect(await service.stop()).toBe(0);
  expect(service.output).not.toContain('service ends');
});

it('says what is wrong with its environment, and ends with exit code 1', async () => {
  const service = startFromSource('actor', { NATS_URL: 'http://127.0.0.1' });
  expect(await service.exited).toBe(1);
  expect(service.output).toMatch(/the actor service ends: .*NATS_URL/s);
});

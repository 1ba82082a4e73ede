import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { softwareVulkan } from '@ui-rl/testkit';
import { chooseDevice } from './choose-device';

const { environment, missing } = softwareVulkan();
const itIfPossible = missing.length === 0 ? it : it.skip;

describe('the choice of a device', () => {
  it('is what was asked for', async () => {
    expect(await chooseDevice('webgpu', { signs: [] })).toEqual({ device: 'webgpu', reason: 'as asked for' });
  });

  it('is the CPU where there is no GPU', async () => {
    expect(await chooseDevice('auto', { signs: [] })).toEqual({ device: 'cpu', reason: 'no GPU was found' });
  });

  it('is the CPU where a GPU cannot be used, and says why', async () => {
    const env = { ...process.env, VK_DRIVER_FILES: '/nowhere.json' };
    const { device, reason } = await chooseDevice('auto', { signs: ['/dev/some-gpu'], env });
    expect(device).toBe('cpu');
    expect(reason).toMatch(
      /^\/dev\/some-gpu found, but it cannot be used: cuda: .+; webgpu: .+; ask for the device/,
    );
  });

  const title = 'is a GPU that computes';
  itIfPossible(missing.length === 0 ? title : `${title}: skipped, ${missing.join(', ')}`, async () => {
    const runtimeDir = mkdtempSync(join(tmpdir(), 'device-'));
    const env = { ...process.env, ...environment(runtimeDir) };
    const { device, reason } = await chooseDevice('auto', { signs: ['/dev/some-gpu'], env });
    rmSync(runtimeDir, { recursive: true });
    expect([device, reason]).toEqual(['webgpu', '/dev/some-gpu found, and a product runs there']);
  });
});

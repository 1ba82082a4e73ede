import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { softwareVulkan } from '@ui-rl/testkit';
import { chooseDevice } from './choose-device';

describe('the choice of a device', () => {
  it('is what was asked for', async () => {
    expect(await chooseDevice('webgpu', { signs: [] })).toEqual({ device: 'webgpu', reason: 'as asked for' });
  });

  it('is the one that a run began on, and another one where that cannot be used, which is said', async () => {
    const again = { device: 'cpu', reason: 'the run began there' };
    expect(await chooseDevice('auto', { signs: ['/dev/some-gpu'], speedup: 1e-6, begunOn: 'cpu' })).toEqual(
      again,
    );
    const env = { ...process.env, VK_DRIVER_FILES: '/nowhere.json' };
    const { device, reason } = await chooseDevice('auto', { signs: [], env, begunOn: 'webgpu' });
    expect(device).toBe('cpu');
    expect(reason).toMatch(/^no GPU was found\. The run began on webgpu, which cannot be used here \(.+\)/);
  });

  it('is the CPU where there is no GPU', async () => {
    expect(await chooseDevice('auto', { signs: [] })).toEqual({ device: 'cpu', reason: 'no GPU was found' });
  });

  it('is the CPU where a GPU cannot be used, and says why', async () => {
    const env = { ...process.env, VK_DRIVER_FILES: '/nowhere.json' };
    const { device, reason } = await chooseDevice('auto', { signs: ['/dev/some-gpu'], env });
    expect(device).toBe('cpu');
    expect(reason).toMatch(
      /^\/dev\/some-gpu found, but not taken: cuda: .+; webgpu: .+\. Ask for a device by name/,
    );
  });

  describe('with a Vulkan driver in software', () => {
    const gpu = { signs: ['/dev/some-gpu'], env: {} as NodeJS.ProcessEnv };
    let runtimeDir: string;
    beforeAll(() => {
      runtimeDir = mkdtempSync(join(tmpdir(), 'device-'));
      gpu.env = { ...process.env, ...softwareVulkan(runtimeDir) };
    });
    afterAll(() => rmSync(runtimeDir, { recursive: true }));

    it('is the CPU where the GPU is slower: a driver in software', async () => {
      const { device, reason } = await chooseDevice('auto', gpu);
      expect(device).toBe('cpu');
      expect(reason).toMatch(/webgpu: products take [\d.]+ ms there and [\d.]+ ms on the CPU\. Ask/);
    }, 60_000);

    it('is the GPU that a run began on, though it is slower now', async () => {
      const chosen = await chooseDevice('auto', { ...gpu, begunOn: 'webgpu' });
      expect(chosen).toEqual({ device: 'webgpu', reason: 'the run began there' });
    }, 60_000);

    it('is a GPU that multiplies fast enough', async () => {
      const { device, reason } = await chooseDevice('auto', { ...gpu, speedup: 1e-6 });
      expect(device).toBe('webgpu');
      expect(reason).toMatch(
        /^\/dev\/some-gpu found; products take [\d.]+ ms there and [\d.]+ ms on the CPU$/,
      );
    }, 60_000);
  });
});

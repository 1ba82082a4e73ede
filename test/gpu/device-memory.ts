import { execFile } from 'node:child_process';

const EVERY_MS = 250;

/** Follows how much of the device's memory is taken, where nvidia-smi tells it. */
export class DeviceMemoryWatch {
  private begin: number | undefined;
  private peak: number | undefined;
  private stopped = false;

  constructor() {
    void this.look();
  }

  /** MiB that were taken at most beyond what was taken when the watch began; undefined where nobody tells. */
  stop(): number | undefined {
    this.stopped = true;
    return this.begin === undefined || this.peak === undefined ? undefined : this.peak - this.begin;
  }

  private async look(): Promise<void> {
    while (!this.stopped) {
      const used = await usedMib();
      if (used === undefined) return;
      this.begin ??= used;
      this.peak = Math.max(this.peak ?? 0, used);
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  }
}

function usedMib(): Promise<number | undefined> {
  const args = ['--query-gpu=memory.used', '--format=csv,noheader,nounits'];
  return new Promise((resolve) => {
    execFile('nvidia-smi', args, { timeout: 5_000 }, (error, stdout) => {
      const numbers = stdout.trim().split('\n').map(Number);
      const isTold = error === null && numbers.every(Number.isFinite);
      resolve(isTold ? numbers.reduce((sum, value) => sum + value, 0) : undefined);
    });
  });
}

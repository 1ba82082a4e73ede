import { execFile } from 'node:child_process';

const EVERY_MS = 250;

/** Tracks the used memory of the device, if nvidia-smi reports it. */
export class DeviceMemoryWatch {
  private begin: number | undefined;
  private peak: number | undefined;
  private stopped = false;

  constructor() {
    void this.look();
  }

  /** Peak MiB used in addition to the start of the watch; undefined if not reported. */
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

import { setTimeout as delay } from 'node:timers/promises';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scenario } from '../scenario';

const SIZE_MIB = 64;
const FULL_MS = 15_000;

/** A small separate file system, if this process may mount one. */
export class SmallDisk {
  readonly path = mkdtempSync(join(tmpdir(), 'uirl-small-disk-'));

  constructor(sizeMib: number) {
    if (process.platform !== 'linux' || process.getuid?.() !== 0)
      throw new Error('a small disk is a tmpfs: run this as root on Linux');
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMib}m`, 'uirl', this.path]);
  }

  /** Writes until the disk is full. */
  fill(): void {
    const block = Buffer.alloc(64 * 1024);
    try {
      for (let at = 0; ; at += 1) writeFileSync(this.filler, block, { flag: at === 0 ? 'w' : 'a' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }

  makeRoom(): void {
    rmSync(this.filler, { force: true });
  }

  remove(): void {
    if (!existsSync(this.path)) return;
    execFileSync('umount', ['-l', this.path]);
    rmSync(this.path, { recursive: true, force: true });
  }

  private get filler(): string {
    return join(this.path, 'filler');
  }
}

export const fullDisk: Scenario = {
  name: 'full-disk',
  shows:
    "the learner's disk is full: the run says that training waits for disk space, and continues when there is some",
  async play(lab) {
    const { fleet } = lab;
    const disk = new SmallDisk(SIZE_MIB);
    try {
      await fleet.moveLearner(disk.path);
      await lab.beginRun('full-disk');
      await lab.trained(1);
      disk.fill();
      const told = () => lab.log.events('warning').some(({ code }) => code === 'disk_full');
      await fleet.until('the warning', told, 120_000);
      const { length } = lab.log.steps;
      await delay(FULL_MS);
      lab.expect(lab.log.steps.length === length, 'a step was trained without room for its checkpoint');
      disk.makeRoom();
      await fleet.completes(lab.log, 300_000);
    } finally {
      disk.remove();
    }
  },
};

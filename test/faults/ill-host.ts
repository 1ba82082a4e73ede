import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServiceName } from '../e2e/support/fleet';

/** Largest heap of a service, in MiB: one that uses up its memory ends soon. */
const HEAP_MIB = 256;

/** Sets clocks of services and uses up their memory. What does it is loaded into them before their own code (`ill-host.cjs`). */
export class IllHost {
  private readonly folder = mkdtempSync(join(tmpdir(), 'uirl-ill-host-'));

  /** For the services. */
  get env(): Record<string, string> {
    return {
      NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB} --require ${join(__dirname, 'ill-host.cjs')}`,
      ILL_HOST: this.folder,
    };
  }

  /** Lets the clock of a service be wrong by so much from now on: positive, where it is ahead. */
  setClock(service: ServiceName, shiftMs: number): void {
    writeFileSync(join(this.folder, `clock-${service}`), String(shiftMs));
  }

  /** One process of the service fills its heap until it ends. */
  useUpMemory(service: ServiceName): void {
    rmSync(join(this.folder, `used-up-${service}`), { force: true });
    writeFileSync(join(this.folder, `memory-${service}`), '');
  }

  /** Whether it has begun to. */
  usesUpMemory(service: ServiceName): boolean {
    return existsSync(join(this.folder, `used-up-${service}`));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

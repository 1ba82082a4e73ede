import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServiceName } from '../e2e/support/fleet';

/** Maximum heap of a service, in MiB, so that exhausting it is fast. */
const HEAP_MIB = 256;

/** Shifts clocks of services and exhausts their memory. `ill-host.cjs` implements it, preloaded into the services. */
export class IllHost {
  private readonly folder = mkdtempSync(join(tmpdir(), 'uirl-ill-host-'));

  /** Environment variables for the services. */
  get env(): Record<string, string> {
    return {
      NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB} --require ${join(__dirname, 'ill-host.cjs')}`,
      ILL_HOST: this.folder,
    };
  }

  /** Shifts the clock of a service from now on; positive values are ahead. */
  setClock(service: ServiceName, shiftMs: number): void {
    writeFileSync(join(this.folder, `clock-${service}`), String(shiftMs));
  }

  /** Makes one process of the service fill its heap until it crashes. */
  useUpMemory(service: ServiceName): void {
    rmSync(join(this.folder, `used-up-${service}`), { force: true });
    writeFileSync(join(this.folder, `memory-${service}`), '');
  }

  /** Whether that process has started. */
  usesUpMemory(service: ServiceName): boolean {
    return existsSync(join(this.folder, `used-up-${service}`));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

import type { BusService } from '@ui-rl/bus';
import { describeError } from '@ui-rl/retry';
import { parseSharedFileName } from '@ui-rl/contracts';
import type { ComponentRegistry, NamedFile } from '@ui-rl/plugin-kit';
import { filesOfRun, type RunFile } from '@ui-rl/settings';

/**
 * Uploads the local files that a run file names, addressed by content, and returns a copy of the run file with their
 * addresses. Rejects with the option's name if a file cannot be read or an address is invalid at this broker.
 */
export async function shareFiles(
  bus: BusService,
  run: RunFile,
  registry: ComponentRegistry,
): Promise<RunFile> {
  const shared = structuredClone(run);
  const files = filesOfRun(shared, registry);
  for (const file of files) await share(bus, file);
  if (files.some(({ isAddress }) => !isAddress)) await bus.files.sweep();
  return shared;
}

async function share(bus: BusService, { option, value, isAddress, replace }: NamedFile): Promise<void> {
  try {
    if (!isAddress) replace(await bus.files.share(value));
    else if (parseSharedFileName(value) !== undefined) await bus.files.check(value);
  } catch (cause) {
    throw new Error(`${option} is ${value}: ${describeError(cause)}`, { cause });
  }
}

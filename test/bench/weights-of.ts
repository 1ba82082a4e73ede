import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readCliSettings } from '@ui-rl/settings';

/** Digest of all weights and configurations in the folder of a policy; for an endpoint or an address, the address. */
export function weightsOf(checkpoint: string): string {
  const folder = readCliSettings().models[checkpoint] ?? resolve(checkpoint);
  if (!existsSync(folder)) return checkpoint;
  const hash = createHash('sha256');
  for (const name of readdirSync(folder).toSorted()) {
    if (/\.(safetensors|json|jinja)$/.test(name)) hash.update(name).update(readFileSync(join(folder, name)));
  }
  return hash.digest('hex').slice(0, 16);
}

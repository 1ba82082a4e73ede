import { realpathSync } from 'node:fs';
import { parse, relative, resolve } from 'node:path';
import { GraphError } from '../errors';

/**
 * The base folder of external data for ONNX Runtime: the root of the file system. ONNX Runtime rejects absolute
 * locations, and locations that leave the model's folder after links are resolved; a base folder that contains
 * everything satisfies both checks.
 */
export function externalDataFolder(): string {
  return parse(process.cwd()).root;
}

/**
 * A path (with links resolved) relative to `externalDataFolder()`. Throws `GraphError` if the file does not exist.
 */
export function rootRelative(path: string): string {
  let real: string;
  try {
    real = realpathSync(resolve(path));
  } catch (cause) {
    throw new GraphError('data', `the file "${resolve(path)}" with constants of a graph cannot be read`, {
      cause,
    });
  }
  return relative(externalDataFolder(), real);
}

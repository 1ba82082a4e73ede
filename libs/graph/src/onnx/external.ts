import { realpathSync } from 'node:fs';
import { parse, relative, resolve } from 'node:path';
import { GraphError } from '../errors';

/**
 * Where ONNX Runtime looks for external data: the root of the file system. It refuses absolute locations, and locations
 * that leave the model's folder after links are resolved; a base folder that holds everything satisfies both checks.
 */
export function externalDataFolder(): string {
  return parse(process.cwd()).root;
}

/** A path (links resolved) as seen from `externalDataFolder()`. Throws `GraphError` where the file does not exist. */
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

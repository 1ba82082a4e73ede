import * as nodeModule from 'node:module';
import { homedir } from 'node:os';
import { basename, join, sep } from 'node:path';

/** Node 22.8 and newer. */
type CompileCache = { enableCompileCache?: (folder: string) => unknown };

/** Beside the compiled code of a clone. Packages in `node_modules` and bundles are not written to. */
function cacheFolder(): string {
  const root = join(__dirname, '../../..');
  const isClone = basename(root) === 'dist' && !root.includes(`${sep}node_modules${sep}`);
  if (isClone) return join(root, '.compile-cache');
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'ui-rl/compile-cache');
}

// Not the folder that Node would take, in the temporary files: other users can write there.
(nodeModule as CompileCache).enableCompileCache?.(cacheFolder());

import * as nodeModule from 'node:module';
import { homedir } from 'node:os';
import { join, sep } from 'node:path';

/** Node 22.8 and newer. */
type CompileCache = { enableCompileCache?: (folder: string) => unknown };

/** Beside the compiled code of a clone. A package in `node_modules` is not written to. */
function cacheFolder(): string {
  if (!__dirname.includes(`${sep}node_modules${sep}`)) return join(__dirname, '../../../.compile-cache');
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'ui-rl/compile-cache');
}

// Not the folder that Node would take, in the temporary files: other users can write there.
(nodeModule as CompileCache).enableCompileCache?.(cacheFolder());

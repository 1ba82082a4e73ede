import * as nodeModule from 'node:module';
import { join } from 'node:path';

/** Node 22.8 and newer. */
type CompileCache = { enableCompileCache?: (folder: string) => unknown };

// Not the folder that Node would take, in the temporary files: other users can write there.
(nodeModule as CompileCache).enableCompileCache?.(join(__dirname, '../../../.compile-cache'));

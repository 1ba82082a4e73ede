import { join } from 'node:path';
import { useCodeCache } from './use';

// Compiled, this file lies in `dist/libs/code-cache/src`; beside the sources there is no cache.
useCodeCache(join(__dirname, '../../..'));

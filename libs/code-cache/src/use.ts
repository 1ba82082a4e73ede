import { CacheFile } from './cache-file';
import { hookModules } from './module-hooks';

/** Has Node take from now on what was recorded of the files in `dist`, if anything was. */
export function useCodeCache(dist: string): void {
  const cache = CacheFile.open(dist);
  if (cache === null) return;
  hookModules({
    resolved: (folder, request) => cache.resolved(folder, request),
    code: (file, source) => cache.code(file, source),
  });
}

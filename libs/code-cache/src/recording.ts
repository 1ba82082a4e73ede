import type { Script } from 'node:vm';
import { CacheFile, type Resolved } from './cache-file';
import { hookModules } from './module-hooks';

/** What is loaded from now on by this process, until it is written. */
export class Recording {
  private readonly scripts: { file: string; source: string; script: Script }[] = [];
  private readonly resolved: Resolved[] = [];

  private constructor() {}

  /**
   * @param imports says of a module's text whether it has an `import()`: that of a script which V8 takes from a cache leads
   * nowhere in Node, so that Node compiles such a module itself
   */
  static start(imports: (source: string) => boolean): Recording {
    const recording = new Recording();
    hookModules(
      { resolved: () => undefined, code: () => undefined },
      {
        wants: (source) => !imports(source),
        onResolved: (folder, request, file) => recording.resolved.push({ folder, request, file }),
        onCompiled: (file, source, script) => recording.scripts.push({ file, source, script }),
      },
    );
    return recording;
  }

  /** Writes the file of `dist`, with what V8 has compiled until now: of functions that were never called, nothing. */
  write(dist: string): void {
    const compiled = this.scripts.map(({ file, source, script }) => ({
      ...{ file, source },
      code: script.createCachedData(),
    }));
    CacheFile.write(dist, compiled, this.resolved);
  }
}

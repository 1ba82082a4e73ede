/* oxlint-disable no-underscore-dangle -- Node's hooks are named so */
import Module from 'node:module';
import { dirname } from 'node:path';
import { Script } from 'node:vm';

/** What is known of modules before they are loaded. */
export interface ModuleMemory {
  /** @returns undefined where it is not known where the request leads */
  resolved(folder: string, request: string): string | undefined;
  /** @returns undefined where it is not known what V8 makes of a module of this text */
  code(file: string, source: string): Buffer | undefined;
}

/** Is told what is not known yet. */
export interface ModuleListener {
  onResolved(folder: string, request: string, file: string): void;
  /** Whether it wants a module's script; else Node compiles the module as it always does. */
  wants(source: string): boolean;
  onCompiled(file: string, source: string, script: Script): void;
}

type ModuleFunction = (
  exports: unknown,
  require: NodeJS.Require,
  module: NodeJS.Module,
  filename: string,
  dirname: string,
) => unknown;

type Compile = (this: NodeJS.Module, source: string, file: string, ...rest: unknown[]) => unknown;

type ResolveFilename = (
  request: string,
  parent?: { filename?: string | null },
  isMain?: boolean,
  options?: object,
) => string;

/** What Node does not document, and has kept for as long as tools rely on it. */
interface Internals {
  prototype: { _compile: Compile };
  _resolveFilename: ResolveFilename;
  _extensions: NodeJS.RequireExtensions;
  _cache: NodeJS.Dict<NodeJS.Module>;
  wrap(source: string): string;
}

const internals = Module as unknown as Internals;

/** Has Node ask `memory` before it looks for a module or compiles one. */
export function hookModules(memory: ModuleMemory, listener?: ModuleListener): void {
  hookResolution(memory, listener);
  hookCompilation(memory, listener);
}

function hookResolution(memory: ModuleMemory, listener?: ModuleListener): void {
  const resolve = internals._resolveFilename;
  internals._resolveFilename = (request, parent, isMain, options) => {
    const from = parent?.filename ?? null;
    if (from === null || options !== undefined) return resolve(request, parent, isMain, options);
    const folder = dirname(from);
    const known = memory.resolved(folder, request);
    if (known !== undefined) return known;
    const file = resolve(request, parent, isMain, options);
    listener?.onResolved(folder, request, file);
    return file;
  };
}

function hookCompilation(memory: ModuleMemory, listener?: ModuleListener): void {
  const compile = internals.prototype._compile;
  internals.prototype._compile = function (source, file, ...rest) {
    const cachedData = memory.code(file, source);
    const isWanted = cachedData !== undefined || listener?.wants(source) === true;
    if (!isWanted) return compile.call(this, source, file, ...rest);
    const script = new Script(internals.wrap(source), { filename: file, cachedData });
    listener?.onCompiled(file, source, script);
    const run = script.runInThisContext() as ModuleFunction;
    return run.call(this.exports, this.exports, requireOf(this), this, file, dirname(file));
  };
}

/** `require` as a module has it. */
function requireOf(module: NodeJS.Module): NodeJS.Require {
  const resolve = (request: string, options?: { paths?: string[] }): string =>
    internals._resolveFilename(request, module, false, options);
  const paths = (request: string): string[] | null =>
    Module.createRequire(module.filename).resolve.paths(request);
  return Object.assign((request: string): unknown => module.require(request), {
    resolve: Object.assign(resolve, { paths }),
    main: process.mainModule,
    extensions: internals._extensions,
    cache: internals._cache,
  });
}

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PluginError } from './errors';
import { PLUGIN_KINDS, type Plugin, type PluginKind } from './plugins';

const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;

type Check = (candidate: Record<string, unknown>) => string | null;

const isFunction =
  (key: string): Check =>
  (candidate) =>
    typeof candidate[key] === 'function' ? null : `needs a function "${key}", found ${show(candidate[key])}`;

const isFunctionIfAny =
  (key: string): Check =>
  (candidate) =>
    candidate[key] === undefined ? null : isFunction(key)(candidate);

const CHECKS: Record<PluginKind, Check[]> = {
  'task-source': [
    checkSourceTypes,
    isFunction('load'),
    isFunctionIfAny('resolve'),
    isFunctionIfAny('oracle'),
    checkPages,
  ],
  reward: [isFunction('score')],
  environment: [isFunction('create')],
};

/** The plugins a module exports: `plugins` (a list) or `default` (one, or a list). Throws `PluginError`. */
export function pluginsOf(module: unknown, file: string): Plugin[] {
  const exported = exportedBy(module);
  const list: unknown[] = Array.isArray(exported) ? exported : [exported];
  if (exported === undefined || list.length === 0) {
    throw invalid(
      file,
      'must export a plugin as "default", or a list of them as "plugins", but exports none',
    );
  }
  return list.map((candidate, index) =>
    validPlugin(candidate, list.length > 1 ? `${file} (plugin ${index})` : file),
  );
}

function exportedBy(module: unknown): unknown {
  if (!isRecord(module)) return undefined;
  if (module.plugins !== undefined) return module.plugins;
  const value = module.default;
  // An ES module seen through CommonJS has its default one level deeper.
  return isRecord(value) && value.kind === undefined && value.default !== undefined ? value.default : value;
}

function validPlugin(candidate: unknown, where: string): Plugin {
  if (!isRecord(candidate)) throw invalid(where, `must export an object, found ${show(candidate)}`);
  const kind = candidate.kind as PluginKind;
  if (!PLUGIN_KINDS.includes(kind)) {
    throw invalid(where, `has kind ${show(candidate.kind)}, expected one of ${PLUGIN_KINDS.join(', ')}`);
  }
  if (typeof candidate.name !== 'string' || !NAME.test(candidate.name)) {
    throw invalid(where, `has name ${show(candidate.name)}, expected lower-case words joined by "-"`);
  }
  for (const check of CHECKS[kind]) {
    const problem = check(candidate);
    if (problem !== null) throw invalid(where, `(${kind} "${candidate.name}") ${problem}`);
  }
  return candidate as unknown as Plugin;
}

function checkSourceTypes({ sourceTypes }: Record<string, unknown>): string | null {
  const valid =
    Array.isArray(sourceTypes) &&
    sourceTypes.length > 0 &&
    sourceTypes.every((type) => typeof type === 'string' && type !== '');
  return valid ? null : `needs "sourceTypes", a list of names, found ${show(sourceTypes)}`;
}

function checkPages({ pages }: Record<string, unknown>): string | null {
  if (pages === undefined) return null;
  if (!isRecord(pages)) return `has "pages" that is no object, found ${show(pages)}`;
  for (const [page, folder] of Object.entries(pages)) {
    if (!NAME.test(page)) return `has a page named ${show(page)}, expected lower-case words joined by "-"`;
    if (typeof folder !== 'string') return `has page "${page}" with ${show(folder)}, expected a folder`;
    if (!existsSync(join(folder, 'index.html'))) {
      return `has page "${page}" in ${folder}, but there is no index.html in it`;
    }
  }
  return null;
}

function invalid(where: string, problem: string): PluginError {
  return new PluginError('invalid', `plugin ${where} ${problem}`);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function show(value: unknown): string {
  if (typeof value === 'function') return 'a function';
  if (value === undefined) return 'nothing';
  return JSON.stringify(value) ?? typeof value;
}

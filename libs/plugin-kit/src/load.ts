import { existsSync, readdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { components as own } from './builtin';
import { componentsOf } from './component-checks';
import { ComponentRegistry, type LoadedComponent } from './registry';
import { PluginError } from './errors';

export interface LoadComponentsOptions {
  /** Additional modules with components: paths of files or folders (relative to `from`), or names of npm packages. */
  packages?: readonly string[];
  /** Base of relative paths and package lookups. Default: the working directory. */
  from?: string;
  /** Folder of the bundled plugins, or null to load only `packages`. */
  builtin?: string | null;
  /** The service that loads them; errors about a missing component name it with its host. */
  service?: string;
}

/**
 * `plugins/` beside `libs/`, in the sources as well as in the compiled tree; missing if this package is installed
 * alone.
 */
const PLUGINS = resolve(__dirname, '../../../plugins');

/** Libs of the project that contain components. */
const LIBS = [
  '../../algorithms/src/components',
  '../../engine/src/components',
  '../../sampling/src/components',
];

/**
 * Loads the bundled components and those that a user names. A module exports a component, or a list of them, as
 * `default`, or a list as `components` or `plugins`. ES modules work if they do not use top-level await. Throws a
 * `PluginError` that names the file and the fault.
 */
export async function loadComponents(options: LoadComponentsOptions = {}): Promise<ComponentRegistry> {
  const from = options.from ?? process.cwd();
  const further = (options.packages ?? []).map((name) => locate(name, from));
  const files = [...new Set([...builtinFiles(options.builtin), ...further])];
  const builtin = options.builtin === null ? [] : builtinComponents();
  const place = options.service === undefined ? undefined : `the ${options.service} service on ${hostname()}`;
  return new ComponentRegistry([...builtin, ...files.flatMap(loadFile)], [...new Set(further)], place);
}

function builtinComponents(): LoadedComponent[] {
  return componentsOf({ components: own }, '@ui-rl/plugin-kit').map((component) => ({
    component,
    file: join(__dirname, 'builtin'),
  }));
}

function builtinFiles(folder: string | null = PLUGINS): string[] {
  if (folder === null) return [];
  const libs = LIBS.map((lib) => moduleAt(resolve(__dirname, lib))).filter((file) => file !== undefined);
  return [...libs, ...(existsSync(folder) ? pluginFiles(folder) : [])];
}

function pluginFiles(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return entries
    .map((entry) => entry.name)
    .toSorted()
    .map((name) => {
      const index = moduleAt(join(folder, name, 'src/index'));
      if (index !== undefined) return index;
      throw new PluginError('not_found', `plugin ${join(folder, name)} has no src/index`);
    });
}

/** Sources in tests, compiled code otherwise. */
function moduleAt(path: string): string | undefined {
  return [`${path}.js`, `${path}.ts`].find(existsSync);
}

function locate(name: string, from: string): string {
  const isPath = name.startsWith('.') || isAbsolute(name);
  const target = isPath ? resolve(from, name) : name;
  try {
    return require.resolve(target, { paths: [from] });
  } catch (cause) {
    const hint = isPath
      ? `there is no module at ${target}: expected a .js file, or a folder with index.js or a package.json that names "main"`
      : `no package of that name is installed in ${from} (npm install ${name}); a path begins with "./" or "/"`;
    throw new PluginError('not_found', `plugin "${name}": ${hint}`, { cause });
  }
}

function loadFile(file: string): LoadedComponent[] {
  return componentsOf(requireModule(file), file).map((component) => ({ component, file }));
}

function requireModule(file: string): unknown {
  try {
    // oxlint-disable-next-line typescript/no-require-imports -- reads both CommonJS and ES modules, synchronously
    return require(file) as unknown;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new PluginError('invalid', `plugin ${file} could not be loaded: ${reason}`, { cause });
  }
}

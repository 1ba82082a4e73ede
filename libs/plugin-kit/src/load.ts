import { existsSync, readdirSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { PluginError } from './errors';
import { PluginRegistry, type LoadedPlugin } from './registry';
import { pluginsOf } from './validate';

export interface LoadOptions {
  /** Further plugins: paths of files or folders (relative to `from`), or names of npm packages. */
  packages?: readonly string[];
  /** Where relative paths and packages are looked up. Default: the working directory. */
  from?: string;
  /** Folder of the plugins that come with the project, or null for none of them. */
  builtin?: string | null;
}

/** `plugins/` beside `libs/`, in the sources as well as in the compiled tree. */
const BUILTIN = resolve(__dirname, '../../../plugins');

/**
 * Loads the plugins of the project and those a user names. A plugin is a module whose `default` is a plugin or a list
 * of plugins, or that exports such a list as `plugins`. ES modules work as long as they do not use top-level await.
 * Throws `PluginError` that names the file and what is wrong with it.
 */
export async function loadPlugins(options: LoadOptions = {}): Promise<PluginRegistry> {
  const from = options.from ?? process.cwd();
  const builtin = options.builtin === null ? [] : builtinFiles(options.builtin ?? BUILTIN);
  const further = (options.packages ?? []).map((name) => locate(name, from));
  const files = [...new Set([...builtin, ...further])];
  return new PluginRegistry(files.flatMap(loadFile));
}

function builtinFiles(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return entries
    .map((entry) => entry.name)
    .toSorted()
    .map((name) => {
      const index = ['index.js', 'index.ts'].map((file) => join(folder, name, 'src', file)).find(existsSync);
      if (index !== undefined) return index;
      throw new PluginError('not_found', `plugin ${join(folder, name)} has no src/index`);
    });
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

function loadFile(file: string): LoadedPlugin[] {
  return pluginsOf(requireModule(file), file).map((plugin) => ({ plugin, file }));
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

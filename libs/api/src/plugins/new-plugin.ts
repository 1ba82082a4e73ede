import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { COMPONENT_NAME } from '@ui-rl/contracts';
import { PluginError, type ComponentKind, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { packageName, renderPlugin } from './render';
import { TEMPLATES } from './templates';

export interface NewPluginOptions {
  kind: ComponentKind;
  /** Name of the component. */
  name: string;
  typescript?: boolean;
  /** Folder to write to. Default: `<kind>-<name>` in the working directory. */
  dir?: string;
  /** Existing components, whose names are taken. */
  components: ComponentRegistry;
}

export interface NewPlugin {
  /** Absolute. */
  folder: string;
  /** Relative to the folder. */
  files: string[];
  /** The part of a run file that selects the component. */
  choice: string;
}

/**
 * Writes a working component with a passing test as a starting point.
 *
 * @throws PluginError if the name is invalid or taken, the folder has files, or the kind has no template
 */
export function newPlugin({ kind, name, typescript = false, dir, components }: NewPluginOptions): NewPlugin {
  const template = TEMPLATES[kind];
  if (typeof template === 'string') {
    throw new PluginError('option', `there is no ${kind} to begin with: ${template}`);
  }
  checkName(kind, name, components);
  const folder = resolve(dir ?? packageName({ kind, name }));
  checkFolder(folder);
  const files = renderPlugin(template, {
    kind,
    name,
    language: typescript ? 'typescript' : 'javascript',
    folder: basename(folder),
  });
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    // Never overwrites a file that another process has created meanwhile.
    writeFileSync(file, text, { flag: 'wx' });
  }
  return { folder, files: Object.keys(files), choice: template.choice.replaceAll('NAME', name) };
}

function checkName(kind: ComponentKind, name: string, components: ComponentRegistry): void {
  if (!COMPONENT_NAME.test(name)) {
    throw new PluginError(
      'option',
      `${JSON.stringify(name)} is no name of a component, expected lower-case words joined by "-" or "_", such as my-${kind}`,
    );
  }
  const taken = components.all(kind).find(({ component }) => component.name === name);
  if (taken !== undefined) {
    throw new PluginError(
      'duplicate',
      `${kind} "${name}" is there already, in ${taken.file}: choose another name`,
    );
  }
}

function checkFolder(folder: string): void {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found === undefined || (found.isDirectory() && readdirSync(folder).length === 0)) return;
  const what = found.isDirectory() ? 'has files already' : 'is a file';
  throw new PluginError('option', `${folder} ${what}, nothing was changed: name another folder with --dir`);
}

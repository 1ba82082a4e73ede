import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { COMPONENT_NAME } from '@ui-rl/contracts';
import { PluginError, type ComponentKind, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { packageName, renderPlugin } from './render';
import { TEMPLATES } from './templates';

export interface NewPluginOptions {
  kind: ComponentKind;
  /** Of the component. */
  name: string;
  typescript?: boolean;
  /** Where it is written; default: `<kind>-<name>` in the working directory. */
  dir?: string;
  /** What there is: a name that is taken is refused. */
  components: ComponentRegistry;
}

export interface NewPlugin {
  /** Absolute. */
  folder: string;
  /** Relative to the folder. */
  files: string[];
  /** What of a run file chooses it. */
  choice: string;
}

/**
 * Writes a component to begin with: it works, and so does its test.
 *
 * @throws PluginError where the name is none or taken, the folder has files, or there is nothing to begin a component of that kind with
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
    // Whoever else writes there meanwhile keeps what he has.
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

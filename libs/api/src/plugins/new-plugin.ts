import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { COMPONENT_NAME } from '@ui-rl/contracts';
import { PluginError, type ComponentKind, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { projectRoot } from '@ui-rl/settings';
import { packageFiles, packageName, type Language } from './package-files';

export interface NewPluginOptions {
  kind: ComponentKind;
  /** Name of the component. */
  name: string;
  typescript?: boolean;
  /** Folder to write; default: `<kind>-<name>` in the working directory. */
  dir?: string;
  /** Existing components: their names are refused. */
  components: ComponentRegistry;
}

export interface NewPlugin {
  /** Absolute path. */
  folder: string;
  /** Paths relative to the folder. */
  files: string[];
  /** The lines of a run file that select the component. */
  choice: string;
}

/** Copied components, made by the build from libs/api/templates. */
const TEMPLATES = join(projectRoot, 'dist/plugin-templates');
/** Name of the component in all templates. */
const TEMPLATE_NAME = 'my-component';
/** File of a template with the lines of a run file that select the component. */
const CHOICE = 'run-file.yaml';
const NO_ENGINE =
  'an engine loads a model, samples from it, differentiates losses and updates its weights, which no short template can do. ' +
  'The contract is libs/plugin-kit/src/kinds/engine.ts; libs/engine implements it. If only sampling should happen elsewhere, create a sampler';

/**
 * Writes a working component and its test, to be edited.
 *
 * @throws PluginError if the name is invalid or taken, the folder contains files, or the kind has no template
 */
export function newPlugin({ kind, name, typescript = false, dir, components }: NewPluginOptions): NewPlugin {
  if (kind === 'engine') throw new PluginError('option', `no template for an engine: ${NO_ENGINE}`);
  checkName(kind, name, components);
  const folder = resolve(dir ?? packageName({ kind, name }));
  checkFolder(folder);
  const language: Language = typescript ? 'typescript' : 'javascript';
  const { [CHOICE]: choice, ...sources } = readTemplate(join(TEMPLATES, language, kind), name);
  const files = {
    ...packageFiles({ kind, name, language, folder: basename(folder), choice: choice.trim() }),
    ...sources,
  };
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    // Never overwrites a file that another process has written meanwhile.
    writeFileSync(file, text, { flag: 'wx' });
  }
  return { folder, files: Object.keys(files), choice: choice.trim() };
}

/** Text of each file of a template, by its path, for a component of this name. */
function readTemplate(folder: string, name: string): Record<string, string> {
  if (!existsSync(folder)) {
    throw new PluginError('option', `${folder} is missing: run "npm run build" in the folder of ui-rl`);
  }
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
  return Object.fromEntries(
    paths
      .toSorted()
      .map((path) => [path, readFileSync(join(folder, path), 'utf8').replaceAll(TEMPLATE_NAME, name)]),
  );
}

function checkName(kind: ComponentKind, name: string, components: ComponentRegistry): void {
  if (!COMPONENT_NAME.test(name)) {
    throw new PluginError(
      'option',
      `invalid component name ${JSON.stringify(name)}, expected lower-case words joined by "-" or "_", such as my-${kind}`,
    );
  }
  const taken = components.all(kind).find(({ component }) => component.name === name);
  if (taken !== undefined) {
    throw new PluginError(
      'duplicate',
      `${kind} "${name}" already exists, in ${taken.file}: choose another name`,
    );
  }
}

function checkFolder(folder: string): void {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found === undefined || (found.isDirectory() && readdirSync(folder).length === 0)) return;
  const what = found.isDirectory() ? 'contains files' : 'is a file';
  throw new PluginError('option', `${folder} ${what}; nothing was changed: name another folder with --dir`);
}

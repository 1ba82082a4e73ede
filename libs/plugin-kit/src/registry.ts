import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Task } from '@ui-rl/contracts';
import type { ComponentKind } from './component-kind';
import { optionsClassOf } from './component-checks';
import { PluginError } from './errors';
import type {
  Component,
  ComponentChoice,
  ComponentsByKind,
  EnvironmentContext,
  PageOfMachine,
  TaskSourceChoice,
} from './kinds';
import { didYouMean } from './nearest';
import { readTaskChoice, withChoiceOptions, type TaskChoiceOptions } from './tasks/choice-options';
import { choiceKey, completeOptions, type ComponentCatalogue, type OptionsClass } from './options';

export interface LoadedComponent<K extends ComponentKind = ComponentKind> {
  component: ComponentsByKind[K];
  /** The file it came from. */
  file: string;
}

/** The second argument and the result of `create`, by kind. */
type ContextOf<K extends ComponentKind> = Parameters<ComponentsByKind[K]['create']>[1];
type MadeOf<K extends ComponentKind> = ReturnType<ComponentsByKind[K]['create']>;

interface Creating<K extends ComponentKind> {
  create(options: object, context: ContextOf<K>): MadeOf<K>;
}

function isFolder(place: string | PageOfMachine): place is string {
  return typeof place === 'string';
}

type Variables = Readonly<Record<string, string>>;

/** Folders that may contain a page's files: if the variable is set, only that one. */
function placesOf(
  { variable, folder = '.', fetched }: PageOfMachine,
  variables: Variables,
  caches: readonly string[],
): string[] {
  if (Object.hasOwn(variables, variable)) return [resolve(variables[variable], folder)];
  return fetched === undefined ? [] : caches.map((cache) => resolve(cache, fetched.into, folder));
}

function whyAbsent(
  { variable, fetched }: PageOfMachine,
  variables: Variables,
  [place]: readonly string[],
): string {
  if (Object.hasOwn(variables, variable)) return `${variable}: there is no ${place}`;
  return fetched === undefined
    ? `${variable} is not set`
    : `${variable} is not set. "${fetched.by}" fetches them`;
}

/** The message for a missing component. */
export function missingComponent(kind: ComponentKind, name: string): string {
  return `no ${kind} is named "${name}"`;
}

/** All loaded components by kind and name. The constructor rejects duplicates. */
export class ComponentRegistry implements ComponentCatalogue {
  /** Page name → folder, from all task sources, without pages whose files the machine provides. */
  readonly pages: Readonly<Record<string, string>>;
  /** Script name → file, from all task sources. */
  readonly scripts: Readonly<Record<string, string>>;
  private readonly pagesOfMachine: Readonly<Record<string, PageOfMachine>>;
  private readonly optionClasses = new WeakMap<object, OptionsClass>();

  /**
   * `files`: the modules that a user named, for threads and processes that load them, too. `place`: the service that
   * loaded them, for messages about a missing component.
   */
  constructor(
    private readonly loaded: readonly LoadedComponent[],
    readonly files: readonly string[] = [],
    private readonly place?: string,
  ) {
    this.refuseDuplicates('component', ({ kind, name }) => [`${kind} "${name}"`]);
    this.refuseDuplicates('page', (component) =>
      component.kind === 'task-source'
        ? Object.keys(component.pages ?? {}).map((page) => `page "${page}"`)
        : [],
    );
    this.refuseDuplicates('script', (component) =>
      component.kind === 'task-source'
        ? Object.keys(component.scripts ?? {}).map((script) => `script "${script}"`)
        : [],
    );
    const sources = this.all('task-source').map(({ component }) => component);
    const pages = sources.flatMap((source) => Object.entries(source.pages ?? {}));
    this.pages = Object.fromEntries(pages.filter((page): page is [string, string] => isFolder(page[1])));
    this.pagesOfMachine = Object.fromEntries(
      pages.filter((page): page is [string, PageOfMachine] => !isFolder(page[1])),
    );
    this.scripts = Object.fromEntries(sources.flatMap(({ scripts }) => Object.entries(scripts ?? {})));
  }

  /** Variables that name the folders of pages on this machine. */
  get pageVariables(): string[] {
    return Object.values(this.pagesOfMachine).map(({ variable }) => variable);
  }

  /**
   * All pages, including those whose files are named by variables or were downloaded to one of the `caches`; for the
   * others, what is missing.
   */
  pagesWith(
    variables: Variables,
    caches: readonly string[] = [],
  ): Pick<EnvironmentContext, 'pages' | 'absentPages'> {
    const pages = { ...this.pages };
    const absentPages: Record<string, string> = {};
    for (const [page, where] of Object.entries(this.pagesOfMachine)) {
      const places = placesOf(where, variables, caches);
      const found = places.find((place) => existsSync(place));
      if (found === undefined) absentPages[page] = whyAbsent(where, variables, places);
      else pages[page] = found;
    }
    return { pages, absentPages };
  }

  all(): readonly LoadedComponent[];
  all<K extends ComponentKind>(kind: K): readonly LoadedComponent<K>[];
  all(kind?: ComponentKind): readonly LoadedComponent[] {
    return this.loaded.filter(({ component }) => kind === undefined || component.kind === kind);
  }

  names(kind: ComponentKind): string[] {
    return this.all(kind).map(({ component }) => component.name);
  }

  /** The component of that kind and name. Throws a `PluginError` `unknown` with the most similar names. */
  get<K extends ComponentKind>(kind: K, name: string): ComponentsByKind[K] {
    const found = this.all(kind).find(({ component }) => component.name === name);
    return found?.component ?? this.unknown(kind, name);
  }

  /** The user's module that contains a component; undefined for bundled ones. Throws as `get` does. */
  moduleOf(kind: ComponentKind, name: string): string | undefined {
    const component = this.get(kind, name);
    const file = this.loaded.find((loaded) => loaded.component === component)?.file;
    return file !== undefined && this.files.includes(file) ? file : undefined;
  }

  /** The class of a component's options, generated from the description if it has one; empty if it has no options. */
  optionsOf(component: Component): OptionsClass {
    const known = this.optionClasses.get(component);
    if (known !== undefined) return known;
    const own = optionsClassOf(component);
    const type = component.kind === 'task-source' ? withChoiceOptions(own) : own;
    this.optionClasses.set(component, type);
    return type;
  }

  /** The common options of a task source in a run file, which select its tasks. Throws as `get` does. */
  taskChoice(choice: TaskSourceChoice): TaskChoiceOptions {
    return readTaskChoice(optionsClassOf(this.get('task-source', choice.source_type)), choice);
  }

  optionsClass(kind: ComponentKind, name: string): OptionsClass {
    return this.optionsOf(this.get(kind, name));
  }

  /**
   * Validates the options of a choice with the component's class and creates the component. Throws a `PluginError`
   * `unknown` for an unknown name, `option` with all faults of the options.
   */
  create<K extends ComponentKind>(
    kind: K,
    choice: ComponentChoice | Readonly<Record<string, unknown>>,
    context: ContextOf<K>,
  ): MadeOf<K> {
    const { [choiceKey(kind)]: name, ...given } = choice;
    const component = this.get(kind, String(name));
    const { options, problems } = completeOptions(this.optionsOf(component), given, {
      where: `${kind} ${component.name}`,
      components: this,
    });
    if (problems.length > 0) {
      throw new PluginError('option', problems.map(({ message }) => message).join('\n'));
    }
    return (component as unknown as Creating<K>).create(options, context);
  }

  /** The whole task for a sentence, from the first source that knows it; null if none does. */
  resolveTask(description: string, sources: readonly string[] = this.names('task-source')): Task | null {
    for (const name of sources) {
      const task = this.get('task-source', name).resolve?.(description) ?? null;
      if (task !== null) return task;
    }
    return null;
  }

  private unknown(kind: ComponentKind, name: string): never {
    const known = this.names(kind).toSorted();
    const list = known.length === 0 ? 'none is loaded' : `known: ${known.join(', ')}`;
    const missing = missingComponent(kind, name);
    if (this.place === undefined) {
      throw new PluginError('unknown', `${missing} (${list}).${didYouMean(name, known)}`);
    }
    // A message must not decide which module to load, so the operator of the service names it.
    const allow = `allow the module that has it there: npx ui-rl up --plugins MODULE, or UIRL_PLUGINS=MODULE for a service on its own`;
    throw new PluginError(
      'unknown',
      `${missing} in ${this.place} (${list}): ${allow}.${didYouMean(name, known)}`,
    );
  }

  private refuseDuplicates(what: string, claims: (component: Component) => string[]): void {
    const owners = new Map<string, string>();
    for (const { component, file } of this.loaded) {
      for (const claim of claims(component)) {
        const other = owners.get(claim);
        if (other !== undefined) {
          throw new PluginError('duplicate', `${claim} comes twice, one ${what} in ${other}, one in ${file}`);
        }
        owners.set(claim, file);
      }
    }
  }
}

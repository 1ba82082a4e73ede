import {
  describeOptions,
  type ComponentKind,
  type ComponentRegistry,
  type NeedsNote,
  type OptionInfo,
  type OptionsClass,
} from '@ui-rl/plugin-kit';
import { RunFile } from './run-file';

/** One option of the run file, or of a component that it may choose. */
export interface IndexedOption {
  /** `training.learning_rate`, `algorithm.loss.clip_high`. */
  path: string;
  info: OptionInfo;
  /** The component that has the option, and the place where it is chosen: `algorithm.loss`. */
  owner?: { kind: ComponentKind; component: string; choice: string; flagsByPath?: boolean };
}

export interface IndexedGroup {
  /** `model.lora`; empty for options of the run file outside of groups. */
  path: string;
  doc: string;
  /** The precondition of its options. */
  needs?: NeedsNote;
}

/** All options of a run file: by group, and those of the components that it may choose. */
export class OptionIndex {
  readonly groups: IndexedGroup[] = [{ path: '', doc: '' }];
  readonly options: IndexedOption[] = [];

  constructor(private readonly registry: ComponentRegistry) {
    this.walk(RunFile, '');
  }

  /** All paths, including groups, for suggestions. */
  get paths(): string[] {
    const groups = this.groups.map(({ path }) => path).filter((path) => path !== '');
    return [...new Set([...this.options.map(({ path }) => path), ...groups])];
  }

  /** All names of flags. */
  get flags(): string[] {
    return [...new Set(this.options.flatMap(flagsOf))];
  }

  at(path: string): IndexedOption | undefined {
    return this.options.find((option) => option.path === path);
  }

  /**
   * The meaning of a flag: the option with that path, else the one with this alias, else options of components with
   * that name. Several with the same path are options of different components.
   */
  named(flag: string): IndexedOption[] {
    const own = this.options.filter(({ owner }) => owner === undefined);
    const searches: (() => IndexedOption[])[] = [
      () => this.options.filter(({ path }) => path === flag),
      () => own.filter(({ info }) => info.aliases.includes(flag)),
      () => this.options.filter((option) => flagsOf(option).includes(flag)),
    ];
    for (const search of searches) {
      const found = search();
      if (found.length > 0) return found;
    }
    return [];
  }

  /** Whether it is an alias of an option. */
  isAlias(name: string): boolean {
    return this.options.some(({ info }) => info.aliases.includes(name));
  }

  private walk(type: OptionsClass, group: string): void {
    for (const info of describeOptions(type)) {
      const path = join(group, info.name);
      if (info.group !== undefined) {
        const { doc, needs } = info;
        this.groups.push({ path, doc, ...(needs === undefined ? {} : { needs }) });
        this.walk(info.group, path);
        continue;
      }
      this.options.push({ path, info });
      if (info.choice?.many === false || info.choice?.beside === true) this.addComponents(info, path, group);
    }
  }

  private addComponents({ choice }: OptionInfo, path: string, group: string): void {
    const { kind, many, flagsByPath = false, optionsKey } = choice!;
    for (const { component } of this.registry.all(kind)) {
      const owner = { kind, component: component.name, choice: path, flagsByPath };
      for (const info of describeOptions(this.registry.optionsOf(component))) {
        // The entries of a list have no paths by name.
        this.options.push({ path: join(many ? group : path, info.name), info, owner });
      }
    }
    if (optionsKey === undefined) return;
    const doc = `options of the ${kind}, which may also stand beside it`;
    const info = { type: 'object', expected: 'an object', required: false, aliases: [] } as const;
    this.options.push({ path: join(group, optionsKey), info: { ...info, name: optionsKey, doc } });
  }
}

/**
 * Flags besides `--<path>`: aliases, and for options of components their names beside the choice, and bare, if the
 * choice is not in a nested group: `--clip_high` means that of `algorithm.loss`.
 */
export function flagsOf({ path, info, owner }: IndexedOption): string[] {
  if (owner === undefined) return [...new Set([path, ...info.aliases])];
  const group = parentOf(owner.choice);
  const beside = join(group, info.name);
  return [
    ...new Set(
      owner.flagsByPath || group.includes('.') ? [path, beside] : [path, ...info.aliases, beside, info.name],
    ),
  ];
}

export function join(group: string, name: string): string {
  return group === '' ? name : `${group}.${name}`;
}

export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('.')));
}

export function lastName(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}

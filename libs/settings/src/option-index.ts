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
  /** `training.learning_rate`, `algorithm.loss.clip_high`: its name in a run file, and as a flag. */
  path: string;
  info: OptionInfo;
  /** The component that has the option, and the place where it is chosen: `algorithm.loss`. */
  owner?: { kind: ComponentKind; component: string; choice: string };
}

export interface IndexedGroup {
  /** `model.lora`; empty for options of the run file outside of groups. */
  path: string;
  doc: string;
  /** The precondition of its options. */
  needs?: NeedsNote;
}

/** All options of a run file: by group, and those of the components that it may choose, lists of components aside. */
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

  /** The option of the run file with that path. */
  at(path: string): IndexedOption | undefined {
    return this.options.find((option) => option.path === path && option.owner === undefined);
  }

  /** The options with that path; several are options of different components. */
  named(path: string): IndexedOption[] {
    return this.options.filter((option) => option.path === path);
  }

  private walk(type: OptionsClass, group: string): void {
    for (const info of describeOptions(type)) {
      const path = join(group, info.name);
      if (info.group !== undefined) {
        const { doc, needs } = info;
        this.groups.push({ path, doc, needs });
        this.walk(info.group, path);
        continue;
      }
      this.options.push({ path, info });
      if (info.choice?.many === false) this.addComponents(info.choice.kind, path);
    }
  }

  private addComponents(kind: ComponentKind, choice: string): void {
    for (const { component } of this.registry.all(kind)) {
      const owner = { kind, component: component.name, choice };
      for (const info of describeOptions(this.registry.optionsOf(component))) {
        this.options.push({ path: join(choice, info.name), info, owner });
      }
    }
  }
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

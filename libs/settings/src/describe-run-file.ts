import {
  describeOptions,
  type ComponentKind,
  type ComponentRegistry,
  type NeedsNote,
  type OptionInfo,
} from '@ui-rl/plugin-kit';
import { OptionIndex, parentOf, type IndexedOption } from './option-index';

/** One option as plain data: for the reference, for pages, for `--json`. */
export interface DescribedOption {
  /** Within its group or component: `learning_rate`. */
  name: string;
  /**
   * In a run file, and as a flag: `training.learning_rate`; undefined for components in lists, whose options have no
   * path.
   */
  path?: string;
  doc: string;
  type: OptionInfo['type'];
  /** Description of valid values. */
  expected: string;
  default?: unknown;
  required: boolean;
  choices?: readonly unknown[];
  secret?: boolean;
  /** Another option of the group and the value that it must have for this one to have an effect. */
  needs?: NeedsNote;
  /** The kind of component that it selects. */
  choice?: { kind: ComponentKind; many: boolean };
}

export interface DescribedGroup {
  /** `model.lora`; empty for options outside of groups. */
  path: string;
  doc: string;
  /** Its precondition, like that of an option. */
  needs?: NeedsNote;
  options: readonly DescribedOption[];
}

export interface DescribedComponent {
  kind: ComponentKind;
  name: string;
  description: string;
  /** The file from which it was loaded. */
  file: string;
  options: readonly DescribedOption[];
  /** Environment variables that it reads, with descriptions. */
  environment?: Readonly<Record<string, string>>;
}

export interface RunFileDescription {
  groups: readonly DescribedGroup[];
  components: readonly DescribedComponent[];
}

/** The whole run file and all components as plain data. */
export function describeRunFile(registry: ComponentRegistry): RunFileDescription {
  const index = new OptionIndex(registry);
  const groups = index.groups.map((group) => ({
    ...group,
    options: index.options
      .filter(({ path, owner }) => owner === undefined && parentOf(path) === group.path)
      .map(describe),
  }));
  return { groups, components: describeComponents(registry) };
}

/** All loaded components, by kind. */
export function describeComponents(registry: ComponentRegistry): DescribedComponent[] {
  const { options } = new OptionIndex(registry);
  return registry.all().map(({ component, file }) => {
    const { kind, name, description = '' } = component;
    const own = options
      .filter(({ owner }) => owner?.kind === kind && owner.component === name)
      // If components of a kind can be chosen in several places, use the first place.
      .filter(({ info }, at, all) => all.findIndex((other) => other.info.name === info.name) === at);
    const infos = describeOptions(registry.optionsOf(component));
    return {
      kind,
      name,
      description,
      file,
      options: own.length > 0 ? own.map(describe) : infos.map((info) => describe({ info })),
      ...('environment' in component ? { environment: component.environment } : {}),
    };
  });
}

function describe({ info, path }: Partial<IndexedOption> & Pick<IndexedOption, 'info'>): DescribedOption {
  const { name, doc, type, expected, required, choices, secret, needs, choice } = info;
  return {
    name,
    path,
    doc,
    type,
    expected,
    default: info.default,
    required,
    choices,
    ...(secret === true ? { secret } : {}),
    needs,
    ...(choice === undefined ? {} : { choice: { kind: choice.kind, many: choice.many } }),
  };
}

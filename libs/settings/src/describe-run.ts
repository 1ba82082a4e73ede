import { isDeepStrictEqual } from 'node:util';
import type { ConfigurationGroup, ConfiguredOption } from '@ui-rl/contracts';
import {
  choiceKey,
  describeOptions,
  isNeedMet,
  isRecord,
  needInWords,
  type ComponentRegistry,
  type OptionInfo,
  type OptionsClass,
} from '@ui-rl/plugin-kit';
import { usualLoss } from './dependent-choices';
import { SettingsError } from './errors';
import { join } from './option-index';
import { parseRunFile } from './read-run-file';
import { redactRunFile } from './redact';
import { RunFile } from './run-file';

type Given = Readonly<Record<string, unknown>>;

/**
 * The configuration of a run by group: every option with its help, value and default, options of the chosen
 * components after their choice, secrets hidden. Fills in defaults if the run file is valid here; otherwise, for
 * example if a component's module is missing, undescribed options appear with name and value.
 *
 * @param usual defaults of this run, by path, that do not come from a class; undefined ones are ignored
 */
export function describeRun(
  config: object,
  registry: ComponentRegistry,
  usual: Readonly<Record<string, unknown>> = {},
): ConfigurationGroup[] {
  const given = { ...config };
  return new RunDescription(registry).describe(completed(given, registry), usual);
}

function completed(given: Given, registry: ComponentRegistry): Given {
  try {
    // The modules concern only the process that announces a run.
    const { plugins, ...announced } = given;
    const { plugins: _none, ...run } = parseRunFile(announced, registry);
    return 'plugins' in given ? { ...run, plugins } : run;
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return given;
  }
}

/** The position of a row. */
interface Place {
  path: string;
  /** For an option of a component: the path of its choice. */
  choice?: string;
  /** Why nothing in this place has an effect. */
  ineffective?: string;
}

class RunDescription {
  private readonly groups: ConfigurationGroup[] = [];

  constructor(private readonly registry: ComponentRegistry) {}

  describe(config: Given, usual: Readonly<Record<string, unknown>>): ConfigurationGroup[] {
    const { algorithm } = config;
    const advantage = isRecord(algorithm) ? algorithm.advantage : undefined;
    this.addGroup(
      RunFile,
      config,
      '',
      { path: '' },
      { ...usual, 'algorithm.loss': usualLoss(advantage, this.registry) },
    );
    return this.groups;
  }

  /** `fallbacks`: defaults by path that do not come from a class, because they depend on other choices. */
  private addGroup(
    type: OptionsClass,
    given: Given,
    doc: string,
    place: Place,
    fallbacks: Readonly<Record<string, unknown>>,
  ): void {
    const infos = describeOptions(type).filter(({ name }) => name !== 'plugins' || 'plugins' in given);
    const options: ConfiguredOption[] = [];
    this.groups.push({ path: place.path, doc, options });
    for (const info of infos) {
      const inner = placeOf(info, given, place);
      const value = given[info.name];
      const fallback = fallbacks[inner.path] ?? info.default;
      if (info.group === undefined) options.push(...this.rows({ ...info, default: fallback }, value, inner));
      else this.addGroup(info.group, isRecord(value) ? value : {}, info.doc, inner, fallbacks);
    }
    options.push(...this.unknown(infos, given, place));
  }

  private rows(info: OptionInfo, value: unknown, place: Place): ConfiguredOption[] {
    if (info.group !== undefined) return this.within(describeOptions(info.group), value, place);
    if (info.choice === undefined) return [this.row(info, value ?? info.default, info.default, place)];
    const chosen = value ?? info.default;
    if (!info.choice.many) return this.chosen(info, chosen, info.default, place);
    const [all, usual] = [chosen, info.default].map(listOf);
    if (all.length === 0) return [this.row(info, all, usual, place)];
    return all.flatMap((each, index) =>
      this.chosen(info, each, usual[index], { ...place, path: `${place.path}[${index}]` }),
    );
  }

  private within(infos: readonly OptionInfo[], value: unknown, place: Place): ConfiguredOption[] {
    const given = isRecord(value) ? value : {};
    const rows = infos.flatMap((info) => this.rows(info, given[info.name], placeOf(info, given, place)));
    return [...rows, ...this.unknown(infos, given, place)];
  }

  /** A component, followed by its options. */
  private chosen(info: OptionInfo, value: unknown, fallback: unknown, place: Place): ConfiguredOption[] {
    const { kind } = info.choice!;
    const key = choiceKey(kind);
    const read = (choice: unknown): Given => (isRecord(choice) ? choice : { [key]: choice });
    const { [key]: name, ...own } = read(value);
    const { [key]: usual, ...usualOptions } = read(fallback);
    const head = this.row(info, name, usual, place);
    const known = this.registry.all(kind).find(({ component }) => component.name === name)?.component;
    if (known?.description !== undefined) head.component = known.description;
    const infos = known === undefined ? [] : describeOptions(this.registry.optionsOf(known));
    const described = infos.map((option) => ({
      ...option,
      default: (name === usual ? usualOptions[option.name] : undefined) ?? option.default,
    }));
    return [head, ...this.within(described, own, { ...place, choice: place.path })];
  }

  /** Options without a description. */
  private unknown(infos: readonly OptionInfo[], given: Given, place: Place): ConfiguredOption[] {
    const known = new Set(infos.map(({ name }) => name));
    return Object.entries(given)
      .filter(([name, value]) => !known.has(name) && value !== undefined)
      .map(([name, value]) =>
        this.row({ name, doc: '', expected: '' }, value, undefined, {
          ...place,
          path: join(place.path, name),
        }),
      );
  }

  private row(
    { name, doc, expected }: Pick<OptionInfo, 'name' | 'doc' | 'expected'>,
    value: unknown,
    fallback: unknown,
    { path, choice, ineffective }: Place,
  ): ConfiguredOption {
    const shown = (each: unknown): unknown => redactRunFile({ [name]: each }, this.registry)[name];
    return {
      ...{ path, doc, expected },
      ...(value === undefined ? {} : { value: shown(value) }),
      ...(fallback === undefined ? {} : { default: shown(fallback) }),
      differs: value !== undefined && !isDeepStrictEqual(plain(value), plain(fallback)),
      choice,
      ineffective,
    };
  }
}

/** The place of an option within that of its group or component. */
function placeOf({ name, needs }: OptionInfo, siblings: Given, place: Place): Place {
  const path = join(place.path, name);
  const unmet = needs !== undefined && !isNeedMet(needs, siblings);
  const reason = unmet ? `needs ${needInWords(needs, join(place.path, needs.option))}` : undefined;
  const ineffective = place.ineffective ?? reason;
  return { ...place, path, ineffective };
}

function listOf(value: unknown): unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

/** The serialized form, in which classes and undefined properties make no difference. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
}

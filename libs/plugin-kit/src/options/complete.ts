import { isDeepStrictEqual } from 'node:util';
import { validateSync } from 'class-validator';
import type { ComponentKind } from '../component-kind';
import { didYouMean } from '../nearest';
import { isRecord, show } from '../show';
import { choiceKey } from './choice-key';
import { describeOptions } from './describe';
import { isNeedMet, needInWords } from './needs';
import { showOption, withoutSecrets } from './secrets';
import type { OptionInfo, OptionsClass } from './types';

export interface OptionProblem {
  /**
   * `conflict`: the option belongs to a component that was not chosen; `unsupported`: see
   * `CompletionContext.unknown`.
   */
  category: 'unknown' | 'unsupported' | 'type' | 'missing' | 'conflict';
  /** `algorithm.loss.clip_high`. */
  path: string;
  /** Where it was read, what was found and what was expected. */
  message: string;
}

/** The components that choices within options may name. */
export interface ComponentCatalogue {
  names(kind: ComponentKind): readonly string[];
  /** Throws an error that lists the available names. */
  optionsClass(kind: ComponentKind, name: string): OptionsClass;
}

export interface CompletionContext {
  /** Where a value was written: a file, a flag. */
  where: string | ((path: string) => string);
  /** Path of the options themselves: `algorithm.loss`. */
  path?: string;
  components?: ComponentCatalogue;
  /** Called for an option that is written beside its choice, with its path and its source. */
  moved?: (path: string, writtenAt: string) => void;
  /** The problem to report for an unknown option. Default: similar names. */
  unknown?: (path: string) => Pick<OptionProblem, 'category' | 'message'>;
}

/** The component whose options are completed, if any. */
interface Owner {
  kind: ComponentKind;
  component: string;
}

export interface Completed<T> {
  /** With all defaults; a valid instance if there are no problems. */
  options: T;
  problems: OptionProblem[];
}

type Given = Readonly<Record<string, unknown>>;

/**
 * Fills in defaults and validates the input with its class: returns the validated instance, or all problems at once.
 * Nested groups and chosen components are completed by their own classes; an option of a chosen component may also be
 * written beside the choice.
 */
export function completeOptions<T extends object>(
  type: OptionsClass<T>,
  given: Given,
  context: string | CompletionContext,
): Completed<T> {
  const completion = new Completion(typeof context === 'string' ? { where: context } : context);
  const path = typeof context === 'string' ? '' : (context.path ?? '');
  return { options: completion.complete(type, given, path) as T, problems: completion.problems };
}

class Completion {
  readonly problems: OptionProblem[] = [];
  /** Sources of options that were moved into their choices. */
  private readonly writtenAt = new Map<string, string>();

  constructor(private readonly context: CompletionContext) {}

  complete(type: OptionsClass, written: Given, path: string, owner?: Owner): object {
    const infos = describeOptions(type);
    const instance = new type() as Record<string, unknown>;
    const given = this.withImplied(infos, written, instance);
    const beside = this.distribute(infos, given, instance, path, owner);
    const broken = new Set<string>();
    for (const info of infos) {
      const found = this.problems.length;
      const value = this.valueOf(info, given[info.name], beside.get(info.name), join(path, info.name));
      if (value !== undefined) instance[info.name] = value;
      else if (instance[info.name] === undefined) delete instance[info.name];
      if (this.problems.length > found) broken.add(info.name);
      else this.refuseUnneeded(info, given[info.name], instance, path);
    }
    this.validate(instance, infos, broken, path);
    return instance;
  }

  /** The value of an option; undefined to use its default. */
  private valueOf(info: OptionInfo, value: unknown, beside: Given | undefined, path: string): unknown {
    if (info.group !== undefined) return this.group(info.group, value, path);
    if (info.choice !== undefined) return this.choice(info, value ?? info.default, beside ?? {}, path);
    const optional = !info.required && info.default === undefined;
    if (value === undefined || (value === null && optional)) {
      if (info.required) this.missing(info, path);
      return undefined;
    }
    return value;
  }

  /** Rejects an option or group that has no effect in combination with the others. */
  private refuseUnneeded(info: OptionInfo, value: unknown, siblings: Given, path: string): void {
    const { needs, group, name } = info;
    if (needs === undefined || value === undefined || isNeedMet(needs, siblings)) return;
    const full = join(path, name);
    const inner = group === undefined ? [] : describeOptions(group);
    const own =
      info.choice === undefined
        ? { fallback: info.default, value }
        : // With all of its options, as in a stored run file.
          { fallback: this.valueOf(info, undefined, undefined, full), value: siblings[name] };
    const written: { full: string; fallback: unknown; value: unknown }[] =
      group === undefined
        ? [{ full, ...own }]
        : inner.map((each) => ({
            full: join(full, each.name),
            fallback: each.default,
            value: isRecord(value) ? value[each.name] : undefined,
          }));
    for (const each of written) {
      // Harmless if it equals the default: a stored run file contains every option.
      if (each.value === undefined || isDeepStrictEqual(each.value, each.fallback)) continue;
      const message = `${each.full} would have no effect: it needs ${needInWords(needs, join(path, needs.option))}`;
      this.refuse('conflict', each.full, message);
    }
  }

  private group(type: OptionsClass, value: unknown, path: string): object {
    if (value === undefined || value === null || isRecord(value)) {
      return this.complete(type, isRecord(value) ? value : {}, path);
    }
    this.refuse('type', path, `${path} is a group of options, found ${show(value)}`);
    return new type();
  }

  private choice(info: OptionInfo, value: unknown, beside: Given, path: string): unknown {
    if (value === undefined) {
      if (info.required) this.missing(info, path);
      return undefined;
    }
    if (info.choice?.many !== true) return this.chosen(info, value, beside, path);
    if (!Array.isArray(value)) return [this.chosen(info, value, beside, path)];
    return value.map((entry, index) => {
      const own = Object.entries(beside).filter(([name]) => this.optionOf(info, entry, name) !== undefined);
      return this.chosen(info, entry, Object.fromEntries(own), `${path}[${index}]`);
    });
  }

  /** Adds components to lists if one of their options is written beside the list. */
  private withImplied(infos: readonly OptionInfo[], written: Given, defaults: Given): Given {
    const given = { ...written };
    for (const info of infos.filter(({ choice }) => choice?.beside === true)) {
      const { kind } = info.choice!;
      for (const [key, value] of Object.entries(written)) {
        const chosen = listOf(given[info.name] ?? defaults[info.name]);
        if (infos.some(({ name }) => name === key) || chosen.some((each) => this.optionOf(info, each, key)))
          continue;
        const [implied, ...others] = this.having(kind, key);
        if (implied === undefined || others.length > 0) continue;
        // An empty value is not a reason to choose the component.
        if (value === null || value === undefined) delete given[key];
        else given[info.name] = [...chosen, implied];
      }
    }
    return given;
  }

  /** One component with all of its options: `{name, …}`. */
  private chosen(info: OptionInfo, value: unknown, beside: Given, path: string): unknown {
    const { kind } = info.choice!;
    const key = choiceKey(kind);
    const given = isRecord(value) ? value : { [key]: value };
    const { [key]: name, ...options } = given;
    if (typeof name !== 'string' || name === '') {
      this.refuse(
        'type',
        path,
        `${path} is ${showOption(info, value)}, expected ${info.expected} (${info.doc})`,
      );
      return undefined;
    }
    const type = this.classOf(kind, name, path);
    if (type === undefined) return undefined;
    for (const option of Object.keys(options)) {
      if (option in beside)
        this.refuse('conflict', join(path, option), `${join(path, option)} is given twice`);
    }
    return {
      [key]: name,
      ...this.complete(type, { ...beside, ...options }, path, { kind, component: name }),
    };
  }

  private classOf(kind: ComponentKind, name: string, path: string): OptionsClass | undefined {
    try {
      return this.context.components?.optionsClass(kind, name);
    } catch (error) {
      this.refuse('unknown', path, `${path}: ${(error as Error).message}`);
      return undefined;
    }
  }

  /** Assigns options that are written beside choices to their choices; rejects those that belong to none. */
  private distribute(
    infos: readonly OptionInfo[],
    given: Given,
    defaults: Given,
    path: string,
    owner: Owner | undefined,
  ): Map<string, Record<string, unknown>> {
    const beside = new Map<string, Record<string, unknown>>();
    const choices = infos.filter(({ choice }) => choice?.many === false || choice?.beside === true);
    const give = (choice: OptionInfo, key: string, option: string, value: unknown) => {
      const full = join(
        this.placeOf(choice, given[choice.name] ?? defaults[choice.name], option, path),
        option,
      );
      this.writtenAt.set(full, join(path, key));
      this.context.moved?.(full, join(path, key));
      beside.set(choice.name, { ...beside.get(choice.name), [option]: value });
    };
    for (const [key, value] of Object.entries(given)) {
      if (infos.some(({ name }) => name === key)) continue;
      const container = choices.find(({ choice }) => choice?.optionsKey === key);
      if (container !== undefined && !isRecord(value)) {
        this.refuse(
          'type',
          join(path, key),
          `${join(path, key)} is ${show(withoutSecrets(value))}, expected an object`,
        );
        continue;
      }
      if (container !== undefined && isRecord(value)) {
        for (const [option, each] of Object.entries(value)) give(container, `${key}.${option}`, option, each);
        continue;
      }
      const owners = choices.flatMap((choice) => {
        const chosen = given[choice.name] ?? defaults[choice.name];
        const options = listOf(chosen).map((each) => this.optionOf(choice, each, key));
        return options.flatMap((option) => (option === undefined ? [] : [{ choice, option }]));
      });
      if (owners.length === 1) give(owners[0].choice, key, owners[0].option.name, value);
      else if (owners.length > 1)
        this.refuseAmbiguous(
          owners.map(({ choice }) => choice),
          key,
          path,
        );
      else if (!this.refuseIdle(choices, key, value, path)) this.refuseUnknown(infos, key, path, owner);
    }
    return beside;
  }

  /** Path of the choice whose component has the option: `algorithm.loss`, `logging.trackers[1]`. */
  private placeOf(info: OptionInfo, chosen: unknown, option: string, path: string): string {
    const place = join(path, info.name);
    if (!Array.isArray(chosen)) return place;
    return `${place}[${chosen.findIndex((each) => this.optionOf(info, each, option) !== undefined)}]`;
  }

  /** The option of that name of the chosen component. */
  private optionOf(info: OptionInfo, value: unknown, name: string): OptionInfo | undefined {
    const { kind } = info.choice!;
    const chosen = isRecord(value) ? value[choiceKey(kind)] : value;
    const known = this.context.components?.names(kind) ?? [];
    return typeof chosen === 'string' && known.includes(chosen) ? this.find(kind, chosen, name) : undefined;
  }

  private find(kind: ComponentKind, component: string, option: string): OptionInfo | undefined {
    const type = this.context.components!.optionsClass(kind, component);
    return describeOptions(type).find(({ name, aliases }) => name === option || aliases.includes(option));
  }

  private refuseAmbiguous(choices: readonly OptionInfo[], key: string, path: string): void {
    const places = choices.map(({ name }) => join(join(path, name), key));
    this.refuse('conflict', join(path, key), `${join(path, key)} may mean ${places.join(' or ')}: say which`);
  }

  /** Rejects an option of an unchosen component of the same kind; returns false if no component has it. */
  private refuseIdle(choices: readonly OptionInfo[], key: string, value: unknown, path: string): boolean {
    for (const { name, choice } of choices) {
      const { kind } = choice!;
      const owners = this.having(kind, key);
      if (owners.length === 0) continue;
      // Harmless if it equals the default: a stored run file may contain every option.
      if (owners.some((owner) => isDeepStrictEqual(this.find(kind, owner, key)?.default, value))) return true;
      const full = join(path, key);
      const needs = `${join(path, name)} ${owners.join(' or ')}`;
      this.refuse('conflict', full, `${full} would have no effect: it needs ${needs}`);
      return true;
    }
    return false;
  }

  private having(kind: ComponentKind, option: string): string[] {
    const names = this.context.components?.names(kind) ?? [];
    return names.filter((component) => this.find(kind, component, option) !== undefined);
  }

  private refuseUnknown(
    infos: readonly OptionInfo[],
    key: string,
    path: string,
    owner: Owner | undefined,
  ): void {
    const full = join(path, key);
    const names = infos.map(({ name }) => name);
    if (owner === undefined) {
      const said = this.context.unknown?.(full) ?? {
        category: 'unknown',
        message: `unknown option "${full}".${didYouMean(key, names) || ` ${knownOptions(names)}`}`,
      };
      this.refuse(said.category, full, said.message);
      return;
    }
    const others = this.having(owner.kind, key);
    const hint =
      others.length > 0
        ? ` It is one of ${others.join(' and ')}.`
        : didYouMean(key, names) || ` ${knownOptions(names)}`;
    const written = this.writtenAt.get(full) ?? full;
    this.refuse('unknown', full, `unknown option "${written}" of ${owner.kind} ${owner.component}.${hint}`);
  }

  private validate(
    instance: object,
    infos: readonly OptionInfo[],
    broken: ReadonlySet<string>,
    path: string,
  ): void {
    for (const { property } of validateSync(instance, { forbidUnknownValues: false })) {
      const info = infos.find(({ name }) => name === property);
      if (info === undefined || broken.has(property)) continue;
      const found = showOption(info, (instance as Record<string, unknown>)[property]);
      const full = join(path, property);
      this.refuse('type', full, `${full} is ${found}, expected ${info.expected} (${info.doc})`);
    }
  }

  private missing(info: OptionInfo, path: string): void {
    this.refuse('missing', path, `${path} is missing, expected ${info.expected} (${info.doc})`);
  }

  private refuse(category: OptionProblem['category'], path: string, message: string): void {
    const { where } = this.context;
    const written = this.writtenAt.get(path) ?? path;
    const place = typeof where === 'string' ? where : where(written);
    this.problems.push({ category, path, message: `${place}: ${message}` });
  }
}

function listOf(value: unknown): unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

function knownOptions(names: readonly string[]): string {
  return names.length === 0 ? 'It has no options' : `Known: ${names.join(', ')}`;
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

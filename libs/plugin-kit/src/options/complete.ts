import { isDeepStrictEqual } from 'node:util';
import { validateSync } from 'class-validator';
import type { ComponentKind } from '../component-kind';
import { didYouMean } from '../nearest';
import { isRecord, show } from '../show';
import { choiceKey } from './choice-key';
import { describeOptions } from './describe';
import { isNeedMet, needInWords } from './needs';
import { showOption } from './secrets';
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
 * Nested groups and chosen components are completed by their own classes.
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

  constructor(private readonly context: CompletionContext) {}

  complete(type: OptionsClass, given: Given, path: string, owner?: Owner): object {
    const infos = describeOptions(type);
    const instance = new type() as Record<string, unknown>;
    for (const key of Object.keys(given)) {
      if (infos.some(({ name }) => name === key)) continue;
      const inner = owner === undefined && isRecord(given[key]) ? Object.keys(given[key]) : [];
      const unknown = inner.length === 0 ? [key] : inner.map((name) => join(key, name));
      for (const each of unknown) this.refuseUnknown(infos, each, path, owner);
    }
    const broken = new Set<string>();
    for (const info of infos) {
      const found = this.problems.length;
      const value = this.valueOf(info, given[info.name], join(path, info.name));
      if (value !== undefined) instance[info.name] = value;
      else if (instance[info.name] === undefined) delete instance[info.name];
      if (this.problems.length > found) broken.add(info.name);
      else this.refuseUnneeded(info, given[info.name], instance, path);
    }
    this.validate(instance, infos, broken, path);
    return instance;
  }

  /** The value of an option; undefined to use its default. */
  private valueOf(info: OptionInfo, value: unknown, path: string): unknown {
    if (info.group !== undefined) return this.group(info.group, value, path);
    if (info.choice !== undefined) return this.choice(info, value ?? info.default, path);
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
          { fallback: this.valueOf(info, undefined, full), value: siblings[name] };
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
    const [{ name }] = describeOptions(type);
    this.refuse('type', path, `${path} is a group of options such as ${name}, found ${show(value)}`);
    return new type();
  }

  private choice(info: OptionInfo, value: unknown, path: string): unknown {
    if (value === undefined) {
      if (info.required) this.missing(info, path);
      return undefined;
    }
    if (info.choice?.many !== true) return this.chosen(info, value, path);
    const entries = Array.isArray(value) ? value : [value];
    return entries.map((entry, index) =>
      this.chosen(info, entry, Array.isArray(value) ? `${path}[${index}]` : path),
    );
  }

  /** One component with all of its options: `{name, …}`. Options without a name are those of the default. */
  private chosen(info: OptionInfo, value: unknown, path: string): unknown {
    const { kind } = info.choice!;
    const key = choiceKey(kind);
    const usual = isRecord(info.default) ? info.default[key] : info.default;
    const { [key]: name = usual, ...options } = isRecord(value) ? value : { [key]: value };
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
    return { [key]: name, ...this.complete(type, options, path, { kind, component: name }) };
  }

  private classOf(kind: ComponentKind, name: string, path: string): OptionsClass | undefined {
    try {
      return this.context.components?.optionsClass(kind, name);
    } catch (error) {
      this.refuse('unknown', path, `${path}: ${(error as Error).message}`);
      return undefined;
    }
  }

  private having(kind: ComponentKind, option: string): string[] {
    const names = this.context.components?.names(kind) ?? [];
    return names.filter((component) =>
      describeOptions(this.context.components!.optionsClass(kind, component)).some(
        ({ name }) => name === option,
      ),
    );
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
    this.refuse('unknown', full, `unknown option "${full}" of ${owner.kind} ${owner.component}.${hint}`);
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
    const place = typeof where === 'string' ? where : where(path);
    this.problems.push({ category, path, message: `${place}: ${message}` });
  }
}

function knownOptions(names: readonly string[]): string {
  return names.length === 0 ? 'It has no options' : `Known: ${names.join(', ')}`;
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

import { choiceKey, describeOptions, isRecord, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { settingsError } from './errors';
import { join, lastName, parentOf, type IndexedOption } from './option-index';

/** The user's input as a tree, with the source of each value. */
export class GivenOptions {
  readonly tree: Record<string, unknown>;
  private readonly origins = new Map<string, string>();

  /** `base`: the source of values without their own. */
  constructor(
    plain: Record<string, unknown>,
    private readonly base: string,
    private readonly registry: ComponentRegistry,
  ) {
    this.tree = structuredClone(plain);
  }

  /** The flag or file that gave an option or its parent. */
  where(path: string): string {
    for (let at = path; at !== ''; at = outerOf(at)) {
      const origin = this.origins.get(at);
      if (origin !== undefined) return origin;
    }
    return this.base;
  }

  get(path: string): unknown {
    return path.split('.').reduce<unknown>((at, key) => {
      return isRecord(at) && Object.hasOwn(at, key) ? at[key] : undefined;
    }, this.tree);
  }

  /** Sets a value; does nothing if a parent is not a group, which is rejected later. */
  set(path: string, value: unknown, origin: string): void {
    const group = this.groupOf(path);
    if (group === undefined) return;
    group[path.slice(path.lastIndexOf('.') + 1)] = value;
    this.origins.set(path, origin);
  }

  /** Sets a value if none is given; for an assumed component, options beside the choice still apply. */
  assume(path: string, value: unknown, origin: string): void {
    if (this.get(path) !== undefined) return;
    const isSaid = (option: string): boolean =>
      option !== 'name' && this.get(join(parentOf(path), option)) !== undefined;
    const assumed = isRecord(value)
      ? Object.fromEntries(Object.entries(value).filter(([option]) => !isSaid(option)))
      : value;
    this.set(path, assumed, origin);
  }

  /** Sets an option of a component beside its choice, or within it if it is already there. */
  setOption({ path, info, owner }: IndexedOption, value: unknown, origin: string): void {
    const chosen = this.get(owner!.choice);
    const inside = isRecord(chosen) && this.has(owner!.kind, chosen, info.name);
    this.set(inside ? path : join(parentOf(owner!.choice), info.name), value, origin);
  }

  /** Moves an option from a former path. Throws a `SettingsError` if the new path is taken. */
  move(from: string, option: IndexedOption): void {
    const value = this.get(from);
    if (value === undefined) return;
    if (this.get(option.path) !== undefined) {
      throw settingsError('conflict', `${this.where(from)}: ${option.path} is given twice, once as ${from}`);
    }
    const origin = `${this.where(from)} (${from})`;
    delete (this.get(parentOf(from)) as Record<string, unknown>)[from.slice(from.lastIndexOf('.') + 1)];
    if (option.owner === undefined) this.set(option.path, value, origin);
    else this.setOption(option, value, origin);
  }

  /** Removes an option; undefined if it is missing. */
  take(path: string): unknown {
    const value = this.get(path);
    const outer = parentOf(path) === '' ? this.tree : this.get(parentOf(path));
    if (value !== undefined) delete (outer as Record<string, unknown>)[lastName(path)];
    return value;
  }

  /** Removes an empty group. */
  dropEmpty(path: string): void {
    const group = this.get(path);
    if (!isRecord(group) || Object.keys(group).length > 0) return;
    const outer = parentOf(path) === '' ? this.tree : (this.get(parentOf(path)) as Record<string, unknown>);
    delete outer[lastName(path)];
  }

  private has(kind: NonNullable<IndexedOption['owner']>['kind'], chosen: object, option: string): boolean {
    const name = (chosen as Record<string, unknown>)[choiceKey(kind)];
    if (typeof name !== 'string' || !this.registry.names(kind).includes(name)) return false;
    return describeOptions(this.registry.optionsClass(kind, name)).some((info) => info.name === option);
  }

  private groupOf(path: string): Record<string, unknown> | undefined {
    let group = this.tree;
    for (const key of path.split('.').slice(0, -1)) {
      const inner = (Object.hasOwn(group, key) ? group[key] : undefined) ?? {};
      if (!isRecord(inner)) return undefined;
      group[key] = inner;
      group = inner;
    }
    return group;
  }
}

/** The parent of a list entry, or of an option in a group. */
function outerOf(path: string): string {
  return path.endsWith(']') ? path.slice(0, path.lastIndexOf('[')) : parentOf(path);
}

import { choiceKey, isRecord, type ComponentKind } from '@ui-rl/plugin-kit';
import { lastName, parentOf } from './option-index';

/** The place where a component is chosen. */
export interface ChoicePlace {
  path: string;
  kind: ComponentKind;
  many: boolean;
  /** The choice if none is given. */
  usual: unknown;
}

/** The user's input as a tree, with the source of each value. */
export class GivenOptions {
  readonly tree: Record<string, unknown>;
  private readonly origins = new Map<string, string>();

  /** `base`: the source of values without their own. */
  constructor(
    plain: Record<string, unknown>,
    private readonly base: string,
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

  /** Whether a value is given; a key without a value is null in YAML and counts as not given. */
  has(path: string): boolean {
    return (this.get(path) ?? null) !== null;
  }

  /** Sets a value; does nothing if a parent is not a group, which is rejected later. */
  set(path: string, value: unknown, origin: string): void {
    const group = this.groupOf(path);
    if (group === undefined) return;
    group[lastName(path)] = value;
    this.origins.set(path, origin);
  }

  /** Sets a value if none is given; a component without a name gets the name and keeps its own options. */
  assume(path: string, value: unknown, origin: string): void {
    const own = this.get(path);
    if (own === undefined) this.set(path, value, origin);
    else if (isRecord(own) && isRecord(value) && own.name === undefined && value.name !== undefined)
      this.set(path, { ...value, ...own, name: value.name }, origin);
  }

  /** Whether the component that is chosen there has a value for an option. @param component of a list */
  hasWithin({ path, kind, many }: ChoicePlace, option: string, component?: string): boolean {
    const key = choiceKey(kind);
    return [this.get(path)]
      .flat()
      .some(
        (entry) => isRecord(entry) && Object.hasOwn(entry, option) && (!many || entry[key] === component),
      );
  }

  /** Sets an option of a chosen component. @param component chosen if nothing is, or added to a list without it */
  setWithin(place: ChoicePlace, option: string, value: unknown, origin: string, component?: string): void {
    const { path, kind, many, usual } = place;
    const key = choiceKey(kind);
    const before = this.get(path) ?? undefined;
    const entries = (many ? [before ?? usual].flat() : [before]).map((entry) =>
      isRecord(entry) ? entry : { [key]: entry ?? component },
    );
    const found = many ? entries.findIndex((entry) => entry[key] === component) : 0;
    const at = found < 0 ? entries.length : found;
    entries[at] = { ...entries[at], [key]: entries[at]?.[key] ?? component, [option]: value };
    this.set(path, many ? entries : entries[0], this.where(path));
    this.origins.set(many ? `${path}[${at}].${option}` : `${path}.${option}`, origin);
  }

  /** Removes an option, and its group if nothing else is in it; undefined if it is missing. */
  take(path: string): unknown {
    const value = this.get(path);
    if (value === undefined) return undefined;
    const group = this.groupOf(path)!;
    delete group[lastName(path)];
    const outer = parentOf(path);
    if (outer !== '' && Object.keys(group).length === 0) this.take(outer);
    return value;
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

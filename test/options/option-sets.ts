import { choiceKey, type ComponentKind, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { Random } from '@ui-rl/random';
import { ALIASES, describeRunFile, type DescribedOption } from '@ui-rl/settings';

/** A user's options for a run: a run file as an object, and flags. */
export interface OptionSet {
  options: Record<string, unknown>;
  flags: string[];
}

const MOST_OPTIONS = 12;
const NUMBERS = [
  0,
  1,
  2,
  3,
  4,
  8,
  16,
  100,
  500,
  4096,
  1e9,
  -1,
  0.1,
  0.5,
  0.95,
  1.5,
  1e-5,
  1e308,
  NaN,
  Infinity,
];
const TEXTS = ['', 'x', 'a/b', '../a', 'latest', '🎲', 'uirl://r/sampler_weights/000001', '/no/such/place'];
const OF_ANOTHER_TYPE = [null, 'text', 3, true, [], {}, [null], { name: 3 }, { name: 'none' }];

/** Required options, so that most sets are not refused because these are missing. */
const NEEDED = { model: { name: 'small' }, tasks: 'demo_training', training: { max_steps: 5 } };

/**
 * Generates option sets from all options of a run file: mostly valid values, sometimes nearly valid or invalid ones.
 */
export class OptionSets {
  private readonly options: DescribedOption[];
  private readonly componentOptions = new Map<string, readonly DescribedOption[]>();
  private random = new Random(0);

  constructor(
    private readonly registry: ComponentRegistry,
    private readonly seed: number,
  ) {
    const { groups, components } = describeRunFile(registry);
    this.options = groups.flatMap(({ options }) => [...options]);
    for (const { kind, name, options } of components) {
      this.componentOptions.set(`${kind} ${name}`, options);
    }
  }

  /** The same set for the same number, independent of earlier calls. */
  draw(number: number): OptionSet {
    this.random = new Random(this.seed * 1_000_003 + number);
    const { random } = this;
    const set: OptionSet = {
      options: random.chance(0.97) ? structuredClone(NEEDED) : {},
      flags: [],
    };
    const count = random.below(MOST_OPTIONS + 1);
    for (const option of random.shuffled(this.options).slice(0, count)) this.give(set, option);
    return set;
  }

  private give(set: OptionSet, option: DescribedOption): void {
    const { random } = this;
    const value = this.valueOf(option);
    const place = this.misspelt(random.chance(0.9) ? option.path! : random.pick(Object.keys(ALIASES)));
    if (random.chance(0.2)) {
      set.flags.push(`--${place}`, typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
    } else {
      put(set.options, place, value);
    }
  }

  private misspelt(name: string): string {
    if (!this.random.chance(0.02)) return name;
    const at = this.random.below(name.length);
    return `${name.slice(0, at)}x${name.slice(at + 1)}`;
  }

  private valueOf(option: DescribedOption): unknown {
    const { random } = this;
    if (random.chance(0.05)) return structuredClone(random.pick(OF_ANOTHER_TYPE));
    // Copies, so that changes to a set do not affect later ones.
    if (option.default !== undefined && random.chance(0.15)) return structuredClone(option.default);
    if (option.choices !== undefined) return random.pick(option.choices);
    switch (option.type) {
      case 'boolean':
        return random.chance(0.5);
      case 'number':
        return this.number(option);
      case 'integer':
        return random.chance(0.85) ? random.below(random.chance(0.5) ? 6 : 600) : random.pick(NUMBERS);
      case 'choice':
        return this.choice(option.choice!);
      case 'list':
        return Array.from({ length: random.below(3) }, () => random.pick(TEXTS));
      case 'object':
        return random.chance(0.5) ? {} : { x: 1 };
      default:
        return random.pick(TEXTS);
    }
  }

  private number({ default: usual }: DescribedOption): number {
    const { random } = this;
    if (random.chance(0.2)) return random.pick(NUMBERS);
    return typeof usual === 'number' && usual !== 0 ? usual * 2 ** (random.below(5) - 2) : random.next();
  }

  private choice({ kind, many }: { kind: ComponentKind; many: boolean }): unknown {
    const { random } = this;
    if (!many) return this.component(kind);
    return Array.from({ length: random.below(3) + 1 }, () => this.component(kind));
  }

  private component(kind: ComponentKind): unknown {
    const { random } = this;
    const name = this.misspelt(random.pick(this.registry.names(kind)));
    const options = this.componentOptions.get(`${kind} ${name}`) ?? [];
    if (options.length === 0 || random.chance(0.5)) return name;
    const given = random.shuffled(options).slice(0, random.below(3));
    return {
      [choiceKey(kind)]: name,
      ...Object.fromEntries(given.map((option) => [option.name, this.valueOf(option)])),
    };
  }
}

/** Sets a value at a path such as `training.seed`, unless a value on the path is not a group. */
function put(tree: Record<string, unknown>, path: string, value: unknown): void {
  const keys = path.split('.');
  let group = tree;
  for (const key of keys.slice(0, -1)) {
    group[key] ??= {};
    const inner = group[key];
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return;
    group = inner as Record<string, unknown>;
  }
  group[keys.at(-1)!] = value;
}

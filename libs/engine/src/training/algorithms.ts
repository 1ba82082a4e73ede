import { components } from '@ui-rl/algorithms';
import {
  ComponentRegistry,
  loadComponents,
  PluginError,
  type ComponentChoice,
  type LoadedComponent,
} from '@ui-rl/plugin-kit';
import { EngineError } from '../errors';
import type { Loss } from '../passes/objective';
import type { ChosenOptimizer } from './optimizer-steps';

/** Distinct choices that are kept. */
const MAX_MADE = 100;

/**
 * Losses, regularizers and optimizers by name: built-in ones, and those of additional modules. Each choice is validated
 * and made once.
 */
export class Algorithms {
  private readonly losses = new Map<string, Loss>();
  private readonly optimizers = new Map<string, ChosenOptimizer>();

  private constructor(private readonly registry: ComponentRegistry) {}

  /** @param files modules with additional components */
  static async load(files: readonly string[]): Promise<Algorithms> {
    const own = components.map((component): LoadedComponent => ({ component, file: '@ui-rl/algorithms' }));
    const further = await loadComponents({ packages: files, builtin: null });
    return new Algorithms(new ComponentRegistry([...own, ...further.all()]));
  }

  /** @param added regularizers with distinct names */
  loss(choice: ComponentChoice, added: readonly ComponentChoice[] = []): Loss {
    const key = [choice, ...added].map(keyOf).join();
    return once(this.losses, key, () => {
      const { scope, inputs, trains = 'policy' } = this.registry.get('policy-loss', choice.name);
      const made = this.registry.create('policy-loss', choice, {});
      const further = added.flatMap(({ name }) => this.registry.get('regularizer', name).inputs);
      return {
        name: choice.name,
        key,
        scope,
        trains,
        inputs: [...new Set([...inputs, ...further])],
        build: (terms) => made.build(terms),
        regularizers: new Map(
          added.map((each) => [each.name, this.registry.create('regularizer', each, {})]),
        ),
      };
    });
  }

  optimizer(choice: ComponentChoice): ChosenOptimizer {
    const key = keyOf(choice);
    return once(this.optimizers, key, () => {
      const optimizer = this.registry.create('optimizer', choice, {});
      return { name: choice.name, key, optimizer };
    });
  }
}

/** Equal for equal choices, regardless of the order of their options. */
function keyOf(choice: ComponentChoice): string {
  return JSON.stringify(Object.entries(choice).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The value of a key; validates and makes it at first use. Turns an invalid name or option into a request error. */
function once<T>(made: Map<string, T>, key: string, make: () => T): T {
  const known = made.get(key);
  if (known !== undefined) return known;
  try {
    const value = make();
    // A client of an API may send other options with each request.
    if (made.size === MAX_MADE) made.clear();
    made.set(key, value);
    return value;
  } catch (cause) {
    if (cause instanceof PluginError) throw new EngineError('request', cause.message, { cause });
    throw cause;
  }
}

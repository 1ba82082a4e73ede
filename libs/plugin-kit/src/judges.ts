import type { ComponentChoice } from './kinds';
import { describeOptions } from './options';
import type { ComponentRegistry } from './registry';

/**
 * Whether one of these rewards, or one that its options select, can judge an episode without a verifier: see
 * `RewardComponent.judgesWithoutVerifier`. Throws a `PluginError` `unknown` for an unknown name.
 */
export function judgesWithoutVerifier(
  rewards: readonly ComponentChoice[],
  components: ComponentRegistry,
): boolean {
  return rewards.some((choice) => {
    const component = components.get('reward', choice.name);
    if (component.judgesWithoutVerifier === true) return true;
    const chosen = describeOptions(components.optionsOf(component))
      .filter((info) => info.choice?.kind === 'reward')
      .flatMap(({ name }) => choice[name] ?? []) as (string | ComponentChoice)[];
    const named = chosen.map((each) => (typeof each === 'string' ? { name: each } : each));
    return judgesWithoutVerifier(named, components);
  });
}

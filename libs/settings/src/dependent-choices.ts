import { choiceKey, isRecord, show, type ComponentKind, type ComponentRegistry } from '@ui-rl/plugin-kit';
import type { GivenOptions } from './given-options';
import { AlgorithmGroup } from './run-file';

/** Chooses the advantage that fits the loss, or the loss that fits the advantage, if only one is given. */
export function chooseByOthers(given: GivenOptions, registry: ComponentRegistry): void {
  const loss = component(registry, 'policy-loss', given.get('algorithm.loss'));
  if (loss?.defaultAdvantage !== undefined && !given.has('algorithm.advantage')) {
    given.set('algorithm.advantage', loss.defaultAdvantage, `policy-loss ${loss.name}`);
  }
  const own = given.get('algorithm.loss') ?? {};
  if (nameOf('policy-loss', own) !== undefined) return;
  const advantage =
    nameOf('advantage', given.get('algorithm.advantage')) ?? new AlgorithmGroup().advantage.name;
  const name = usualLoss(advantage, registry);
  if (name !== undefined) given.set('algorithm.loss', { ...own, name }, `advantage ${show(advantage)}`);
}

/** Chooses the environment's default rewards if none are given. */
export function chooseRewards(given: GivenOptions, registry: ComponentRegistry): void {
  if (given.has('rewards')) return;
  const name = nameOf('environment', given.get('environment.kind'));
  const found = registry.all('environment').find(({ component }) => component.name === name);
  const rewards = found?.component.defaultRewards?.map((reward) => ({ name: reward }));
  if (rewards !== undefined) given.set('rewards', rewards, `environment ${String(name)}`);
}

/** The default loss of an advantage; undefined for an unknown advantage. */
export function usualLoss(chosen: unknown, registry: ComponentRegistry): string | undefined {
  const advantage = component(registry, 'advantage', chosen);
  if (advantage === undefined) return undefined;
  return advantage.defaultLoss ?? (advantage.gives === 'selection' ? 'cross_entropy' : 'importance_sampling');
}

function nameOf(kind: ComponentKind, choice: unknown): unknown {
  return isRecord(choice) ? choice[choiceKey(kind)] : choice;
}

/** The chosen component; undefined for an unknown name, which is rejected later. */
function component<K extends 'policy-loss' | 'advantage'>(
  registry: ComponentRegistry,
  kind: K,
  choice: unknown,
): ReturnType<typeof registry.get<K>> | undefined {
  const name = nameOf(kind, choice);
  return typeof name === 'string' && registry.names(kind).includes(name)
    ? registry.get(kind, name)
    : undefined;
}

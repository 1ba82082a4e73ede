import {
  choiceKey,
  describeOptions,
  isRecord,
  type ComponentKind,
  type ComponentRegistry,
} from '@ui-rl/plugin-kit';
import type { GivenOptions } from './given-options';
import { AlgorithmGroup, EnvironmentGroup } from './run-file';

/** Chooses the advantage that fits the loss, or the loss that fits the advantage, if only one is given. */
export function chooseByOthers(given: GivenOptions, registry: ComponentRegistry): void {
  chooseByAlgorithm(given, registry);
  // A key without a value is null in YAML and counts as not given.
  const isNamed = (option: string) => (given.get(option) ?? null) !== null;
  const loss = component(registry, 'policy-loss', given.get('algorithm.loss'));
  if (loss?.defaultAdvantage !== undefined && !isNamed('algorithm.advantage')) {
    given.set('algorithm.advantage', loss.defaultAdvantage, `policy-loss ${loss.name}`);
  }
  if (isNamed('algorithm.loss')) return;
  const chosen = given.get('algorithm.advantage') ?? new AlgorithmGroup().advantage;
  const usual = usualLoss(chosen, registry);
  if (usual !== undefined)
    given.set('algorithm.loss', usual, `advantage ${String(nameOf('advantage', chosen))}`);
}

/** Chooses the environment's default rewards if none are given. */
export function chooseRewards(given: GivenOptions, registry: ComponentRegistry): void {
  if ((given.get('rewards') ?? null) !== null) return;
  const name = nameOf('environment', given.get('environment.kind'));
  const found = registry.all('environment').find(({ component }) => component.name === name);
  const rewards = found?.component.defaultRewards?.map((reward) => ({ name: reward }));
  if (rewards !== undefined) given.set('rewards', rewards, `environment ${String(name)}`);
}

/** Chooses an environment from an option beside the choice, if none is chosen and only one has that option. */
export function chooseEnvironment(given: GivenOptions, registry: ComponentRegistry): void {
  const group = given.get('environment');
  if (!isRecord(group) || (group.kind ?? null) !== null) return;
  const usual = new EnvironmentGroup().kind.name;
  const own = describeOptions(EnvironmentGroup).map(({ name }) => name);
  for (const option of Object.keys(group)) {
    if (own.includes(option)) continue;
    const having = registry
      .names('environment')
      .filter((name) =>
        describeOptions(registry.optionsClass('environment', name)).some((each) => each.name === option),
      );
    if (having.length !== 1 || having[0] === usual) continue;
    given.set('environment.kind', having[0], `${given.where(`environment.${option}`)} (${option})`);
    return;
  }
}

/** `algorithm: ppo` names an advantage that forms this algorithm with its loss. */
function chooseByAlgorithm(given: GivenOptions, registry: ComponentRegistry): void {
  const chosen = given.get('algorithm.advantage');
  const name = nameOf('advantage', chosen);
  if (typeof name !== 'string' || registry.names('advantage').includes(name)) return;
  const made = registry.all('advantage').find(({ component: each }) => each.algorithm === name);
  if (made === undefined) return;
  const value = isRecord(chosen)
    ? { ...chosen, [choiceKey('advantage')]: made.component.name }
    : made.component.name;
  given.set('algorithm.advantage', value, given.where('algorithm.advantage'));
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

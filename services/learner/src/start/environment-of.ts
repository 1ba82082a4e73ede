import type { ComponentChoice, ComponentRegistry } from '@ui-rl/plugin-kit';
import { readVariables } from '@ui-rl/settings';

/** Values of the environment variables that an engine reads. */
export function environmentOf(
  components: ComponentRegistry,
  { name }: ComponentChoice,
): Readonly<Record<string, string>> {
  return readVariables(Object.keys(components.get('engine', name).environment ?? {}));
}

import type { ComponentKind } from '../component-kind';

/**
 * The key of a choice that names the component: `{name: ppo, …}`; for task sources `{source_type: demo_training, …}`.
 */
export function choiceKey(kind: ComponentKind): 'name' | 'source_type' {
  return kind === 'task-source' ? 'source_type' : 'name';
}

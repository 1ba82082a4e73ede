import type { StateCheck, Task } from '@ui-rl/plugin-kit';

export type Category = NonNullable<Task['category']>;

/** A value a start forces; `oneOf` lets the seed choose. */
export type StartValue = unknown;

/** One thing to do on the screen where a goal is decided, until its check holds. */
export type Move =
  | { kind: 'press'; element: string; label: string; until: StateCheck }
  | { kind: 'step'; label: string; path: string; to: number; until: StateCheck }
  | { kind: 'enter'; text: string; submit: string | null; until: StateCheck };

/** A goal sentence understood. */
export interface Goal {
  /** As the policy reads it, in the words of the screens. */
  sentence: string;
  category: Category;
  /** The screen where it is decided. */
  place: string;
  moves: Move[];
  /** The screen that shows that it is done; the last part may be the name of a row of the screen before. */
  shown: string;
  checks: StateCheck[];
  /** State that makes every start unsolved: path → value. */
  unsolved: Record<string, StartValue>;
  /** Where an episode starts unless a task says otherwise. */
  from: string;
}

export function equals(path: string, value: unknown): StateCheck {
  return { path, operator: 'equals', value };
}

/** Two goals with the same meaning have the same key, whatever their words. */
export function meaningOf(goal: Goal): string {
  return goal.checks
    .map(({ path, operator, value }) => `${path} ${operator} ${JSON.stringify(value)}`)
    .toSorted()
    .join('; ');
}

import type { StateCheck, Task } from '@ui-rl/plugin-kit';

export type Category = NonNullable<Task['category']>;

/** A value that the start sets; with `oneOf` the seed chooses. */
export type StartValue = unknown;

/** One operation on the screen where a goal is decided, until its check holds. */
export type Move =
  | { kind: 'press'; element: string; label: string; until: StateCheck }
  | { kind: 'step'; label: string; path: string; to: number; until: StateCheck }
  | { kind: 'enter'; text: string; submit: string | null; until: StateCheck };

/** A parsed goal sentence. */
export interface Goal {
  /** The sentence for the policy, in the words of the screens. */
  sentence: string;
  category: Category;
  /** The screen where it is decided. */
  place: string;
  moves: Move[];
  /** The screen that shows success; the last part may be the name of a row of the previous screen. */
  shown: string;
  checks: StateCheck[];
  /** State in which the goal never holds: path → value. */
  unsolved: Record<string, StartValue>;
  /** Default start screen. */
  from: string;
}

export function equals(path: string, value: unknown): StateCheck {
  return { path, operator: 'equals', value };
}

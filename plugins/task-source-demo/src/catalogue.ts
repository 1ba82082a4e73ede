import type { Task } from '@ui-rl/plugin-kit';
import type { Entry } from './entry';
import { EVALUATION } from './evaluation';
import type { Goal } from './goal';
import { parseGoal } from './grammar';
import { mostActions, parentOf, ROOTS } from './route';
import { TRAINING } from './training';

/** Actions allowed beyond the oracle's maximum. */
const SLACK = 2;

/** Pocket's screen in CSS pixels. */
export const VIEWPORT = { width: 160, height: 224 } as const;

export const PAGE = 'pocket';

function difficultyOf(actions: number): NonNullable<Task['difficulty']> {
  if (actions <= 3) return 'easy';
  return actions <= 4 ? 'medium' : 'hard';
}

/** The complete task for a goal: environment, checks, limit. `from` is its start screen. */
export function taskOf(goal: Goal, from: string = goal.from, id?: string): Task {
  const actions = mostActions(goal, from);
  return {
    id: id ?? `demo_${goal.sentence.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_')}`,
    description: goal.sentence,
    source: 'demo',
    category: goal.category,
    difficulty: difficultyOf(actions),
    maxSteps: actions + SLACK,
    environment: {
      kind: 'browser',
      options: { page: PAGE, viewport: VIEWPORT, reset: { start: { screen: from, set: goal.unsolved } } },
    },
    checks: goal.checks,
  };
}

function catalogueOf(prefix: string, entries: readonly Entry[]): Task[] {
  return entries.map(({ name, goal, from }, index) => {
    const parsed = parseGoal(goal);
    if (parsed === null) throw new Error(`the catalogue's goal "${goal}" is not one of the grammar's`);
    return taskOf(parsed, from, `${prefix}_${String(index + 1).padStart(2, '0')}_${name}`);
  });
}

export const trainingTasks: readonly Task[] = catalogueOf('train', TRAINING);
export const evaluationTasks: readonly Task[] = catalogueOf('eval', EVALUATION);

/** The same task from the screen with its control, or for "Open Camera" the screen with that button. */
export function startingNear(task: Task): Task {
  const goal = parseGoal(task.description)!;
  if (goal.moves.length > 0) return taskOf(goal, goal.place, task.id);
  return ROOTS.has(goal.place) ? task : taskOf(goal, parentOf(goal.place), task.id);
}

/**
 * A task for a hand-written sentence, starting from the home screen or where the goal requires it; null if unknown.
 */
export function resolve(description: string): Task | null {
  const goal = parseGoal(description);
  return goal === null ? null : taskOf(goal);
}

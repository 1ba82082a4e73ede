import type { Task } from '@ui-rl/plugin-kit';
import type { Entry } from './entry';
import { EVALUATION } from './evaluation';
import { meaningOf, type Goal } from './goal';
import { allGoals, parseGoal } from './grammar';
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

export interface GrammarGoal {
  task: Task;
  /** Screen where the goal is decided: starting there or nearby makes a short episode. */
  place: string;
  /** Whether its meaning equals that of an evaluation goal, which must never be demonstrated. */
  evaluation: boolean;
}

/** All goals of the grammar, several hundred, in a fixed order. */
export function* goals(): Generator<GrammarGoal> {
  const kept = new Set(EVALUATION.map(({ goal }) => meaningOf(parseGoal(goal)!)));
  for (const goal of allGoals()) {
    yield { task: taskOf(goal), place: goal.place, evaluation: kept.has(meaningOf(goal)) };
  }
}

/** The same task from another start screen: `settings/network`, `chat/anna`, `lock` … */
export function startingFrom(task: Task, screen: string): Task {
  const goal = parseGoal(task.description);
  if (goal === null) throw new Error(`"${task.description}" is not a goal of the demo tasks`);
  return taskOf(goal, screen, task.id);
}

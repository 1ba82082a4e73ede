import { SET_VALUE } from '../../wording/tasks';
import { marked } from '../../wording/provenance';
import { maybeSubmitted, orderOn, partsOf } from '../say';
import { slidTo, steppedTo } from '../subgoals';
import type { TaskMaker } from '../task';

const FEWEST_STEPS = 6;

const slider: TaskMaker = {
  widgets: ['slider', 'slider', 'buttons', 'text'],
  make: (situation) => {
    const { view, random } = situation;
    const shown = partsOf(situation, 'slider').filter(({ id }) => showsValueBeside(situation, id));
    if (shown.length === 0) return undefined;
    const { id, min = 0, max = 100, step = 1 } = random.pick(shown);
    const now = Number(view.get(id)!.value);
    const steps = Array.from({ length: Math.floor((max - min) / step) + 1 }, (_, i) => min + i * step);
    // Nearer values are reached with arrow keys, which need the focus that only a drag gives.
    const far = steps.filter((value) => Math.abs(value - now) >= FEWEST_STEPS * step);
    if (far.length === 0) return undefined;
    const value = random.pick(far);
    return maybeSubmitted(situation, [
      {
        order: orderOn(situation, SET_VALUE, view.get(id)!, () => ({ value: marked(String(value)) })),
        subgoals: [slidTo(id, value, { min, max, step })],
        isDone: (state) => Number(state[id]) === value,
      },
    ]);
  },
};

/** Whether the value of a slider is displayed to its right. */
function showsValueBeside({ view }: Parameters<TaskMaker['make']>[0], id: number): boolean {
  const { box, value } = view.get(id)!;
  const right = view.truth.characters.filter(({ box: [left, top, width, height] }) => {
    const middle = top + height / 2;
    return (
      left >= box[0] + box[2] &&
      left < box[0] + box[2] + 12 + 10 * (value ?? '').length &&
      middle >= box[1] - 4 &&
      middle <= box[1] + box[3] + 4 &&
      width > 0
    );
  });
  return right
    .map(({ text }) => text)
    .join('')
    .startsWith(value ?? '?');
}

const MOST_CLICKS = 5;

const stepper: TaskMaker = {
  widgets: ['stepper', 'stepper', 'buttons', 'text'],
  make: (situation) => {
    const { view, random } = situation;
    const parts = partsOf(situation, 'stepper').filter(({ items = [] }) =>
      items.every(({ id }) => view.get(id) !== undefined),
    );
    if (parts.length === 0) return undefined;
    const { id, items, min = 0, max = 99 } = random.pick(parts);
    const now = Number(view.get(id)!.value);
    const near = Array.from({ length: 2 * MOST_CLICKS + 1 }, (_, i) => now - MOST_CLICKS + i);
    const value = random.pick(near.filter((each) => each !== now && each >= min && each <= max));
    return maybeSubmitted(situation, [
      {
        order: orderOn(situation, SET_VALUE, view.get(id)!, () => ({ value: marked(String(value)) })),
        subgoals: [steppedTo(id, value, items![0].id, items![1].id)],
        isDone: (state) => Number(state[id]) === value,
      },
    ]);
  },
};

export const VALUE_TASKS = { slider, stepper };

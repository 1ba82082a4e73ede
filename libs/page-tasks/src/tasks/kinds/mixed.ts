import { submitPart } from '../say';
import type { Part, TaskMaker } from '../task';
import { CHOICE_TASKS } from './choices';
import { FIELD_TASKS } from './fields';
import { VALUE_TASKS } from './values';

/** Kinds whose results stay visible, so that the screen shows the remaining work. */
const LASTING = [
  CHOICE_TASKS['one checkbox'],
  CHOICE_TASKS.toggles,
  CHOICE_TASKS.radio,
  CHOICE_TASKS.select,
  FIELD_TASKS.type,
  FIELD_TASKS['drop-down'],
  VALUE_TASKS.stepper,
];

/** Different parts in order, then a button. */
const mixed: TaskMaker = {
  widgets: ['checkboxes', 'radios', 'field', 'select', 'stepper', 'toggles', 'buttons'],
  make: (situation) => {
    const { random } = situation;
    const parts: Part[] = [];
    for (const { make } of random.shuffled(LASTING)) {
      const first = make(situation)?.[0];
      if (first !== undefined) parts.push(first);
      if (parts.length === 3) break;
    }
    const submit = submitPart(situation);
    if (parts.length < 2 || submit === undefined) return undefined;
    return [...parts.slice(0, 2 + random.below(2)), submit];
  },
};

export const MIXED_TASKS = { mixed };

import type { PagePart } from '@ui-rl/page-generator';
import { listed } from '../../wording/goals';
import { CHECK, SELECT, TURN_OFF, TURN_ON, UNCHECK } from '../../wording/orders';
import { say } from '../../wording/phrases';
import { CHECK_ALL, CHECK_ONLY } from '../../wording/tasks';
import {
  clickPart,
  isNameable,
  maybeSubmitted,
  mentioned,
  orderOn,
  partsOf,
  sayable,
  writtenElements,
} from '../say';
import { checked, selected } from '../subgoals';
import type { Part, Situation, TaskMaker } from '../task';

const isOn = ({ view }: Situation, { id }: PagePart): boolean => view.get(id)!.state.checked === true;

function choicePart(situation: Situation, part: PagePart, want: boolean): Part {
  const words = part.kind === 'toggles' ? [TURN_OFF, TURN_ON] : [UNCHECK, CHECK];
  return {
    order: orderOn(situation, words[Number(want)], situation.view.get(part.id)!),
    subgoals: [checked(part.id, want)],
    isDone: (state) => state[part.id] === want,
  };
}

/** Toggles one to three checkboxes or switches. */
function turn(kind: 'checkboxes' | 'toggles', most: number): TaskMaker {
  return {
    widgets: [kind, 'buttons'],
    make: (situation) => {
      const { random } = situation;
      const all = random.shuffled(partsOf(situation, kind)).slice(0, 1 + random.below(most));
      if (all.length === 0) return undefined;
      return maybeSubmitted(
        situation,
        all.map((part) => choicePart(situation, part, !isOn(situation, part))),
      );
    },
  };
}

/** Checks several checkboxes that the goal names. */
const checkSeveral: TaskMaker = {
  widgets: ['checkboxes', 'buttons'],
  make: (situation) => {
    const { random, split } = situation;
    const off = sayable(
      situation,
      partsOf(situation, 'checkboxes').filter((part) => !isOn(situation, part)),
    );
    const wanted = random.shuffled(off).slice(0, 2 + random.below(3));
    if (wanted.length < 2) return undefined;
    const names = () =>
      listed(
        wanted.map(({ name }) => mentioned(situation, name)),
        random,
      );
    return maybeSubmitted(situation, [
      {
        order: () => say(CHECK_ALL, { names: names() }, random, split),
        subgoals: wanted.map(({ id }) => checked(id, true)),
        isDone: (state) => wanted.every(({ id }) => state[id] === true),
      },
    ]);
  },
};

/** Checks some checkboxes, and no others. */
const checkOnly: TaskMaker = {
  widgets: ['checkboxes', 'buttons'],
  make: (situation) => {
    const { page, random, split } = situation;
    const all = sayable(situation, partsOf(situation, 'checkboxes'));
    if (all.length < 2 || all.length < page.parts.filter(({ kind }) => kind === 'checkboxes').length)
      return undefined;
    const wanted = random.shuffled(all).slice(0, 1 + random.below(all.length - 1));
    if (all.every((part) => isOn(situation, part) === wanted.includes(part))) return undefined;
    const names = () =>
      listed(
        wanted.map(({ name }) => mentioned(situation, name)),
        random,
      );
    return maybeSubmitted(situation, [
      {
        order: () => say(CHECK_ONLY, { names: names() }, random, split),
        subgoals: all.map((part) => checked(part.id, wanted.includes(part))),
        isDone: (state) => all.every((part) => state[part.id] === wanted.includes(part)),
      },
    ]);
  },
};

const radio: TaskMaker = {
  widgets: ['radios', 'buttons'],
  make: (situation) => {
    const free = writtenElements(situation, ['radio']).filter(({ state }) => state.checked !== true);
    if (free.length === 0) return undefined;
    const element = situation.random.pick(free);
    return maybeSubmitted(situation, [
      {
        order: orderOn(situation, SELECT, element),
        subgoals: [checked(element.id, true)],
        isDone: (state) => state[element.id] === true,
      },
    ]);
  },
};

/** Selects an item of a list, a grid or tabs that display the selection. */
const select: TaskMaker = {
  widgets: ['list', 'grid', 'tabs', 'buttons'],
  make: (situation) => {
    const kinds = ['list item', 'grid cell', 'tab'];
    const free = writtenElements(situation, kinds).filter(({ state }) => state.selected === false);
    if (free.length === 0) return undefined;
    const element = situation.random.pick(free);
    return maybeSubmitted(situation, [
      {
        order: orderOn(situation, SELECT, element),
        subgoals: [selected(element.id)],
        isDone: (state) => state[element.id] === true,
      },
    ]);
  },
};

const CLICKABLE = [
  'button',
  'link',
  'icon',
  'menu item',
  'tree item',
  'bar',
  'shape',
  'grid cell',
  'close button',
];

/** One click on any element. */
const click: TaskMaker = {
  widgets: ['buttons', 'links', 'icons', 'shapes', 'menu'],
  make: (situation) => {
    const { view, random } = situation;
    const all = view.elements.filter(
      (element) => CLICKABLE.includes(element.kind) && element.interactive && isNameable(situation, element),
    );
    return all.length === 0 ? undefined : [clickPart(situation, random.pick(all))];
  },
};

export const CHOICE_TASKS = {
  click,
  select,
  radio,
  'one checkbox': turn('checkboxes', 1),
  'checkboxes one by one': turn('checkboxes', 3),
  'several checkboxes': checkSeveral,
  'only these checkboxes': checkOnly,
  toggles: turn('toggles', 3),
};

import type { TruthElement } from '@ui-rl/page-generator';
import { marked } from '../../wording/provenance';
import { UNFOLD } from '../../wording/orders';
import { say } from '../../wording/phrases';
import {
  CLICK_EXTREME,
  CLOSE_THEN,
  DRAG_ONTO,
  FIND_AND,
  IN_SECTION,
  PICK_FROM_MENU,
} from '../../wording/tasks';
import {
  clickPart,
  happened,
  isNameable,
  maybeSubmitted,
  mentioned,
  named,
  orderOn,
  partsOf,
  sayable,
  writtenElements,
} from '../say';
import { clicked, dropped, expanded, opened, selected } from '../subgoals';
import type { Part, Situation, Subgoal, TaskMaker } from '../task';

/** An item of a menu that has to be opened. */
const menu: TaskMaker = {
  widgets: ['menu', 'menu', 'text'],
  make: (situation) => {
    const { random, split } = situation;
    const bars = partsOf(situation, 'menu').filter(({ name }) => name !== '');
    const part = bars.length === 0 ? undefined : random.pick(bars);
    const items = sayable(situation, part?.items ?? []);
    if (part === undefined || items.length === 0) return undefined;
    const item = random.pick(items);
    const header = situation.view.get(part.id)!;
    const slots = () => ({ menu: named(situation, header), option: mentioned(situation, item.name) });
    return [
      {
        order: () => say(PICK_FROM_MENU, slots(), random, split),
        subgoals: [opened(part.id, clicked(item.id))],
        endsByClick: true,
        isDone: happened(item.id, 'click'),
      },
    ];
  },
};

/** A button or a link in a tab or a section that is not open yet. */
const section: TaskMaker = {
  widgets: ['tabs', 'accordion', 'text'],
  make: (situation) => {
    const { page, view, random, split } = situation;
    const hidden = page.parts.filter(({ kind, id, inside }) => {
      return (
        ['buttons', 'links'].includes(kind) &&
        inside !== undefined &&
        view.get(id) === undefined &&
        isNameable(situation, view.get(inside))
      );
    });
    const inner = sayable(situation, hidden);
    if (inner.length === 0) return undefined;
    const { id, name, kind, inside } = random.pick(inner);
    const header = view.get(inside!)!;
    const noun = kind === 'links' ? 'link' : 'button';
    const order = () =>
      `${random.pick(['click', 'press', 'click on', 'choose'])} ${random.pick(['', 'the '])}${mentioned(situation, name)} ${random.pick(['', noun, noun])}`.trim();
    const open: Subgoal = header.kind === 'tab' ? selected(header.id) : expanded(header.id);
    return [
      {
        order: () => say(IN_SECTION, { section: named(situation, header), order: order() }, random, split),
        subgoals: [open, clicked(id)],
        endsByClick: true,
        isDone: happened(id, 'click'),
      },
    ];
  },
};

/** A closed section or row of a tree, to be opened. */
const unfold: TaskMaker = {
  widgets: ['accordion', 'tree', 'text'],
  make: (situation) => {
    const closed = writtenElements(situation, ['accordion', 'tree item']).filter(
      ({ state }) => state.expanded === false,
    );
    if (closed.length === 0) return undefined;
    const element = situation.random.pick(closed);
    return maybeSubmitted(situation, [
      {
        order: orderOn(situation, UNFOLD, element),
        subgoals: [expanded(element.id)],
        isDone: (state) => state[element.id] === true,
      },
    ]);
  },
};

/** A row of a tree below one that is closed. */
const tree: TaskMaker = {
  widgets: ['tree', 'tree', 'text'],
  make: (situation) => {
    const { view, random, split } = situation;
    const trees = situation.page.parts.filter(({ kind }) => kind === 'tree');
    const rows = sayable(
      situation,
      trees.flatMap(({ items = [] }) => items),
    );
    const below = rows.filter(
      ({ id, inside }) =>
        view.get(id) === undefined && inside !== undefined && isNameable(situation, view.get(inside)),
    );
    if (below.length === 0) return undefined;
    const { id, name, inside } = random.pick(below);
    const parent = view.get(inside!)!;
    const order = () =>
      `${random.pick(['click', 'select', 'choose', 'click on'])} ${mentioned(situation, name)}`;
    return [
      {
        order: () => say(IN_SECTION, { section: named(situation, parent), order: order() }, random, split),
        subgoals: [expanded(parent.id), clicked(id)],
        endsByClick: true,
        isDone: happened(id, 'click'),
      },
    ];
  },
};

/** Something further down in what scrolls. */
const scroll: TaskMaker = {
  widgets: ['scroll container', 'scroll container', 'text'],
  make: (situation) => {
    const { page, view, random, split } = situation;
    const containers = page.parts.filter(
      ({ kind, id }) => kind === 'scroll container' && view.get(id) !== undefined,
    );
    if (containers.length !== 1) return undefined;
    const inside = page.parts.filter(({ id, kind }) => {
      return (
        ['buttons', 'links'].includes(kind) &&
        view.get(id) === undefined &&
        containers[0].items?.some((item) => item.id === id)
      );
    });
    const targets = sayable(situation, inside);
    if (targets.length === 0) return undefined;
    const { id, name, kind } = random.pick(targets);
    const noun = kind === 'links' ? 'link' : 'button';
    const target = () =>
      random.pick([
        mentioned(situation, name),
        `the ${mentioned(situation, name)} ${noun}`,
        `the ${noun} ${mentioned(situation, name)}`,
      ]);
    return [
      {
        order: () => say(FIND_AND, { target: target() }, random, split),
        subgoals: [clicked(id)],
        endsByClick: true,
        isDone: happened(id, 'click'),
      },
    ];
  },
};

/** A dialog over the page: to be closed, and at times something behind it to be clicked. */
const dialog: TaskMaker = {
  widgets: ['dialog', 'buttons', 'text'],
  make: (situation) => {
    const { page, view, random, split } = situation;
    const part = page.parts.find(({ kind, id }) => kind === 'dialog' && view.get(id) !== undefined);
    const close = view.elements.find(({ kind, parent }) => kind === 'close button' && parent === part?.id);
    if (part === undefined || close === undefined) return undefined;
    const closing: Part = {
      order: () => say(CLOSE_THEN, {}, random, split),
      subgoals: [
        (seen, dice) => (seen.get(part.id) === undefined ? 'reached' : clicked(close.id)(seen, dice)),
      ],
      isDone: (state) => state[part.id] === false,
    };
    const behind = page.parts.filter(({ kind, id }) => kind === 'buttons' && view.get(id) === undefined);
    const inside = writtenElements(situation, ['button']).filter((element) =>
      view.isInside(element, view.get(part.id)!),
    );
    const dice = random.next();
    if (dice < 0.3 && inside.length > 0) return [clickPart(situation, random.pick(inside))];
    const hidden = sayable(situation, behind);
    if (dice < 0.5 || hidden.length === 0) return [closing];
    return [closing];
  },
};

const drag: TaskMaker = {
  widgets: ['drag and drop', 'drag and drop', 'text'],
  make: (situation) => {
    const { view, random, split } = situation;
    const parts = situation.page.parts.filter(({ kind }) => kind === 'drag and drop');
    const sources = view.elements.filter(
      (element) => element.kind === 'drag source' && isNameable(situation, element),
    );
    const targets = view.elements.filter(
      (element) => element.kind === 'drop target' && isNameable(situation, element),
    );
    const pairs = parts.flatMap(({ id }) => {
      const of = (all: readonly TruthElement[]) =>
        all.filter((each) => view.ancestors(each).some((outer) => outer.id === id));
      return of(sources).flatMap((source) => of(targets).map((target) => [source, target] as const));
    });
    if (pairs.length === 0) return undefined;
    const [source, target] = random.pick(pairs);
    const slots = () => ({ source: named(situation, source), target: named(situation, target) });
    return maybeSubmitted(situation, [
      {
        order: () => say(DRAG_ONTO, slots(), random, split),
        subgoals: [dropped(source.id, target.id)],
        isDone: ({ events }) =>
          events.findLast(({ event, id }) => event === 'drop' && id === source.id)?.value === target.id,
      },
    ]);
  },
};

/** The largest or smallest of the numbers in a grid. */
const extreme: TaskMaker = {
  widgets: ['grid', 'grid', 'text'],
  make: (situation) => {
    const { view, random, split } = situation;
    const grids = situation.page.parts.filter(({ kind, items = [] }) => {
      return (
        kind === 'grid' &&
        items.length > 0 &&
        items.every(({ id, name }) => /^\d+$/.test(name) && view.get(id) !== undefined)
      );
    });
    if (grids.length !== 1) return undefined;
    const items = grids[0].items!.toSorted((a, b) => Number(a.name) - Number(b.name));
    const isLargest = random.chance(0.5);
    const [best, next] = isLargest ? items.toReversed() : items;
    if (best.name === next.name) return undefined;
    const words = isLargest
      ? ['the largest', 'the highest', 'the greatest', 'the biggest']
      : ['the smallest', 'the lowest', 'the least'];
    return [
      {
        order: () => say(CLICK_EXTREME, { superlative: marked(random.pick(words)) }, random, split),
        subgoals: [clicked(best.id)],
        endsByClick: true,
        isDone: happened(best.id, 'click'),
      },
    ];
  },
};

export const PLACE_TASKS = { menu, section, unfold, tree, scroll, dialog, drag, extreme };
export type { Situation };

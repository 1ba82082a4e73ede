import type { PagePart, TruthElement } from '@ui-rl/page-generator';
import { orderFor } from '../../questions/point';
import { refer, referenceBy } from '../../references';
import { marked } from '../../wording/provenance';
import { UNFOLD } from '../../wording/orders';
import { say } from '../../wording/phrases';
import {
  CLICK_EXTREME,
  CLOSE_THEN,
  DRAG_ONTO,
  FIND_AND,
  SORT_FIRST,
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
import { clicked, dropped, expanded, opened, selected, sortedFirst } from '../subgoals';
import type { Part, Subgoal, TaskMaker } from '../task';

/** Opens a menu and clicks an item. */
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
    const pick = clicked(item.id);
    const slots = () => ({ menu: named(situation, header), option: mentioned(situation, item.name) });
    return [
      {
        order: () => say(PICK_FROM_MENU, slots(), random, split),
        subgoals: [opened(part.id, item.inside === undefined ? pick : opened(item.inside, pick))],
        endsByClick: true,
        isDone: happened(item.id, 'click'),
      },
    ];
  },
};

/** Clicks a button or a link in a tab or section that is closed at first. */
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
    const header = view.get(inside)!;
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

/** Opens a closed section or tree row. */
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

/** Clicks a tree row below a closed one. */
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
    const parent = view.get(inside)!;
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

/** Minimum height of a scroll container in pixels: in a lower one, one wheel notch would skip content. */
const LOWEST = 75;

/** Clicks an element further down in a scroll container. */
const scroll: TaskMaker = {
  widgets: ['scroll container', 'scroll container', 'text'],
  fits: ({ parts }) => parts.filter(({ kind }) => kind === 'scroll container').length === 1,
  make: (situation) => {
    const { page, view, random, split } = situation;
    const containers = page.parts.filter(
      ({ kind, id }) => kind === 'scroll container' && (view.get(id)?.box[3] ?? 0) >= LOWEST,
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

/** A dialog over the page: click something in it, or close it, sometimes to reach the page behind it. */
const dialog: TaskMaker = {
  widgets: ['dialog', 'buttons', 'text'],
  fits: ({ parts }) => parts.some(({ kind, value }) => kind === 'dialog' && value === true),
  make: (situation) => {
    const { page, view, random, split } = situation;
    const part = page.parts.find(({ kind, id }) => kind === 'dialog' && view.get(id) !== undefined);
    const close = part?.items?.map(({ id }) => view.get(id)).find((element) => element !== undefined);
    if (part === undefined || close === undefined) return undefined;
    const inside = writtenElements(situation, ['button']).filter((element) =>
      view.isInside(element, view.get(part.id)!),
    );
    if (random.chance(0.3) && inside.length > 0) return [clickPart(situation, random.pick(inside))];
    const closing: Part = {
      order: () => say(CLOSE_THEN, {}, random, split),
      subgoals: [(seen) => (seen.get(part.id) === undefined ? 'reached' : clicked(close.id)(seen))],
      isDone: (state) => state[part.id] === false,
    };
    const behind = sayable(
      situation,
      page.parts.filter(
        ({ kind, id, inside: header }) =>
          kind === 'buttons' && header === undefined && view.get(id) === undefined,
      ),
    );
    if (random.chance(0.4) || behind.length === 0) return [closing];
    const { id, name } = random.pick(behind);
    return [
      closing,
      {
        order: () => `${random.pick(['click', 'press', 'choose', 'use'])} ${mentioned(situation, name)}`,
        subgoals: [clicked(id)],
        endsByClick: true,
        isDone: happened(id, 'click'),
      },
    ];
  },
};

/** Reorders a list by dragging. */
const sort: TaskMaker = {
  widgets: ['sortable list', 'text'],
  make: (situation) => {
    const { page, view, random, split } = situation;
    const part = page.parts.find(
      ({ kind, items = [] }) =>
        kind === 'sortable list' && items.every(({ id }) => view.get(id) !== undefined),
    );
    const movable = (part?.items ?? []).slice(1).filter(({ id }) => isNameable(situation, view.get(id)));
    if (part === undefined || movable.length === 0) return undefined;
    const { id, name } = random.pick(movable);
    const list = part.items!.map((item) => item.id);
    return maybeSubmitted(situation, [
      {
        order: () => say(SORT_FIRST, { source: named(situation, view.get(id)!) }, random, split),
        subgoals: [sortedFirst(id, list)],
        isDone: (state) => (state[part.id] as string[] | undefined)?.[0] === name,
      },
    ]);
  },
};

/** Clicks the link in a table row. */
const row: TaskMaker = {
  widgets: ['table', 'table', 'text'],
  fits: ({ parts }) => parts.some(({ kind, items }) => kind === 'table' && items !== undefined),
  make: (situation) => {
    const { view, random, split } = situation;
    const found = view.elements
      .filter(({ kind, row: at }) => kind === 'link' && at !== undefined)
      .flatMap((element) => referenceBy('row', element, view, random, split) ?? []);
    if (found.length === 0) return undefined;
    const reference = random.pick(found);
    const { element } = reference;
    return [
      {
        order: () =>
          say(orderFor(element, random), { target: refer(reference, random, split) }, random, split),
        subgoals: [clicked(element.id)],
        endsByClick: true,
        isDone: happened(element.id, 'click'),
      },
    ];
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

function isOfNumbers({ kind, items = [] }: PagePart): boolean {
  return kind === 'grid' && items.length > 0 && items.every(({ name }) => /^\d+$/.test(name));
}

/** Clicks the largest or smallest number of a grid. */
const extreme: TaskMaker = {
  widgets: ['grid', 'grid', 'text'],
  fits: ({ parts }) => parts.filter(isOfNumbers).length === 1,
  make: (situation) => {
    const { view, random, split } = situation;
    const grids = situation.page.parts.filter(
      (part) => isOfNumbers(part) && part.items!.every(({ id }) => view.get(id) !== undefined),
    );
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

export const PLACE_TASKS = { menu, section, unfold, tree, scroll, dialog, drag, sort, row, extreme };

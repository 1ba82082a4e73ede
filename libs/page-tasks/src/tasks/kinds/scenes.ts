import type { PagePart, TruthElement } from '@ui-rl/page-generator';
import { orderFor } from '../../questions/point';
import { HOWS, refer, referenceBy } from '../../references';
import { marked } from '../../wording/provenance';
import { say } from '../../wording/phrases';
import { ACT_ON_RECORD, OPEN_RECORD } from '../../wording/tasks';
import { happened, mentioned, sayable } from '../say';
import { clicked, opened } from '../subgoals';
import type { Situation, TaskMaker } from '../task';
import { CHOICE_TASKS } from './choices';

/** Phrases for a control in the row of a mail, a post, a file or a product. */
const DEEDS: Readonly<Record<string, readonly string[]>> = {
  trash: ['delete', 'remove', 'throw away'],
  delete: ['delete', 'remove', 'throw away'],
  reply: ['reply to', 'answer', 'respond to'],
  forward: ['forward', 'pass on'],
  star: ['star', 'put a star on'],
  flag: ['flag', 'put a flag on'],
  bookmark: ['bookmark', 'put a bookmark on'],
  heart: ['like', 'put a heart on', 'give a heart to'],
  share: ['share'],
  chat: ['comment on'],
  book: ['book', 'reserve'],
  add: ['add', 'take', 'put into the cart'],
};

function recordsOf({ page }: Situation): PagePart | undefined {
  return page.parts.find(({ kind }) => kind === 'records');
}

/** Acts on one of many records: by a control in its row, or in its detail view. */
const record: TaskMaker = {
  widgets: [],
  scenes: ['mail', 'feed', 'files', 'shop', 'booking'],
  make: (situation) => {
    const { page, view, random, split } = situation;
    const { items = [], actions = [] } = recordsOf(situation) ?? {};
    const rows = sayable(situation, items).filter(({ id, name }) => isShown(view.get(id), name, situation));
    // The detail view of a mail has controls that appear when it is open.
    const canBeReached = (id: number) => view.get(id) !== undefined || page.scene === 'mail';
    const possible = rows.flatMap((item) =>
      actions
        .filter(({ id, name, row }) => items[row] === item && DEEDS[name] !== undefined && canBeReached(id))
        .map((action) => ({ item, action })),
    );
    if (possible.length === 0) return undefined;
    const { item, action } = random.pick(possible);
    const slots = () => ({
      deed: random.pick(DEEDS[action.name]),
      control: marked(action.name),
      name: mentioned(situation, item.name),
    });
    return [
      {
        order: () => say(ACT_ON_RECORD, slots(), random, split),
        subgoals: [opened(item.id, clicked(action.id))],
        endsByClick: true,
        isDone: happened(action.id, 'click'),
      },
    ];
  },
};

function isShown(element: TruthElement | undefined, name: string, { view }: Situation): boolean {
  return element !== undefined && view.shows(element, name);
}

/** Opens one of many records. */
const openRecord: TaskMaker = {
  widgets: [],
  scenes: ['mail'],
  make: (situation) => {
    const { view, random, split } = situation;
    const rows = sayable(situation, recordsOf(situation)?.items ?? []).filter(({ id, name }) =>
      isShown(view.get(id), name, situation),
    );
    if (rows.length === 0) return undefined;
    const { id, name } = random.pick(rows);
    return [
      {
        order: () => say(OPEN_RECORD, { name: mentioned(situation, name) }, random, split),
        subgoals: [clicked(id)],
        endsByClick: true,
        isDone: happened(id, 'click'),
      },
    ];
  },
};

/** A click on any element of a complete page, by any kind of reference. */
const anything: TaskMaker = {
  widgets: [],
  scenes: ['mail', 'feed', 'chat', 'files', 'booking', 'shop', 'settings', 'dashboard', 'form'],
  make: ({ view, random, split }) => {
    const free = view.elements.filter(({ kind, state, interactive }) => {
      return CLICKED.includes(kind) && interactive && state.disabled !== true;
    });
    for (const element of random.shuffled(free)) {
      const how = random.pick(HOWS);
      const reference = referenceBy(how, element, view, random, split);
      if (reference === undefined) continue;
      return [
        {
          order: () =>
            say(orderFor(element, random), { target: refer(reference, random, split) }, random, split),
          subgoals: [clicked(element.id)],
          endsByClick: true,
          isDone: happened(element.id, 'click'),
        },
      ];
    }
    return undefined;
  },
};

const CLICKED = ['button', 'link', 'icon', 'list item', 'tab', 'menu item', 'bar'];

export const SCENE_TASKS = {
  record,
  'open record': openRecord,
  anything,
  settings: { ...CHOICE_TASKS.toggles, widgets: [], scenes: ['settings'] },
} satisfies Record<string, TaskMaker>;

import type { ElementKind, PagePart } from '@ui-rl/page-generator';
import { isSayable, mentionExactly } from '../../wording/mention';
import { TYPE_INTO } from '../../wording/orders';
import { ANSWER_INTO, CHOOSE_OPTION, CLEAR, PICK_DATE, PICK_SUGGESTION, REPLACE } from '../../wording/tasks';
import { drawText } from '../../wording/texts';
import { referenceBy, refer } from '../../references';
import { nounSlots, ofNoun } from '../../references/reference';
import { NOUNS } from '../../wording/nouns';
import { maybeSubmitted, mentioned, orderOn, partsOf, sayable, submitPart } from '../say';
import { chosen, clicked, filled, opened, pressed } from '../subgoals';
import type { Part, Situation, TaskMaker } from '../task';

function textFor(part: PagePart, { random }: Situation): string {
  return part.kind === 'spin button' ? String(random.below(200)) : drawText(random);
}

/** Types a suitable text into a field. */
function fieldPart(situation: Situation, part: PagePart): Part {
  const { view, random } = situation;
  const field = view.get(part.id)!;
  const text = textFor(part, situation);
  const phrases = (field.value ?? '') === '' ? TYPE_INTO : REPLACE;
  return {
    order: orderOn(situation, phrases, field, () => ({ text: mentionExactly(text, random) })),
    subgoals: [filled(part.id, text)],
    isDone: (state) => state[part.id] === text,
  };
}

const FIELDS = ['field', 'password', 'text area', 'spin button'] as const;

function fieldsOf(situation: Situation): PagePart[] {
  return FIELDS.flatMap((kind) => partsOf(situation, kind));
}

const type: TaskMaker = {
  widgets: ['field', 'field', 'password', 'text area', 'buttons'],
  make: (situation) => {
    const fields = fieldsOf(situation);
    if (fields.length === 0) return undefined;
    return maybeSubmitted(situation, [fieldPart(situation, situation.random.pick(fields))]);
  },
};

const typeAndEnter: TaskMaker = {
  widgets: ['field', 'password', 'text'],
  make: (situation) => {
    const fields = partsOf(situation, 'field');
    if (fields.length === 0) return undefined;
    const part = situation.random.pick(fields);
    const keys = ['Enter', 'the Enter key', 'Return', 'enter', 'the return key'];
    return [
      fieldPart(situation, part),
      {
        order: () => `${situation.random.pick(['press', 'hit', 'push'])} ${situation.random.pick(keys)}`,
        subgoals: [pressed('enter')],
        endsByClick: true,
        isDone: (state) => state.events.some(({ id, event }) => id === part.id && event === 'enter'),
      },
    ];
  },
};

const clear: TaskMaker = {
  widgets: ['field', 'password', 'text area', 'buttons'],
  make: (situation) => {
    const { view, random } = situation;
    const full = fieldsOf(situation).filter(
      ({ id, kind }) => kind !== 'spin button' && (view.get(id)!.value ?? '') !== '',
    );
    if (full.length === 0) return undefined;
    const { id } = random.pick(full);
    return maybeSubmitted(situation, [
      {
        order: orderOn(situation, CLEAR, view.get(id)!),
        subgoals: [filled(id, '')],
        isDone: (state) => state[id] === '',
      },
    ]);
  },
};

/** Selects an option of a drop-down list. */
function optionPart(situation: Situation, part: PagePart): Part | undefined {
  const { view, random } = situation;
  const list = view.get(part.id)!;
  const options = sayable(situation, part.items ?? []).filter(({ name }) => name !== list.value);
  if (options.length === 0 || list.kind !== 'select') return undefined;
  const option = random.pick(options);
  return {
    order: orderOn(situation, CHOOSE_OPTION, list, () => ({ option: mentioned(situation, option.name) })),
    subgoals: [chosen(part.id, option.id, option.name)],
    isDone: (state) => state[part.id] === option.name,
  };
}

const dropDown: TaskMaker = {
  widgets: ['select', 'select', 'buttons'],
  make: (situation) => {
    const parts = partsOf(situation, 'select').map((part) => optionPart(situation, part));
    const found = parts.filter((part) => part !== undefined);
    return found.length === 0 ? undefined : maybeSubmitted(situation, [situation.random.pick(found)]);
  },
};

/** Two to four fields and lists, then a button. */
const form: TaskMaker = {
  widgets: ['field', 'field', 'password', 'select', 'spin button', 'buttons'],
  make: (situation) => {
    const { random } = situation;
    const lists = partsOf(situation, 'select').map((part) => optionPart(situation, part));
    const fields = fieldsOf(situation).map((part) => fieldPart(situation, part));
    const all = random.shuffled([...fields, ...lists.filter((part) => part !== undefined)]);
    const submit = submitPart(situation);
    if (all.length < 2 || submit === undefined) return undefined;
    return [...all.slice(0, 2 + random.below(3)), submit];
  },
};

/** Types a text of the screen into a field. */
const answer: TaskMaker = {
  widgets: ['field', 'table', 'list', 'heading', 'buttons'],
  make: (situation) => {
    const { view, random, split } = situation;
    const fields = partsOf(situation, 'field').filter(({ id }) => (view.get(id)!.value ?? '') === '');
    if (fields.length === 0) return undefined;
    const field = random.pick(fields);
    for (const element of random.shuffled(view.elements)) {
      if (!['table cell', 'heading', 'list item'].includes(element.kind) || !isSayable(element.name))
        continue;
      if (!view.shows(element, element.name)) continue;
      const how = random.pick(['column', 'only of its kind', 'place', 'beside'] as const);
      const reference = referenceBy(how, element, view, random, split);
      if (reference === undefined || Object.values(reference.names).includes(element.name)) continue;
      const question = () => refer(reference, random, split);
      return maybeSubmitted(situation, [
        {
          order: orderOn(situation, ANSWER_INTO, view.get(field.id)!, () => ({ question: question() })),
          subgoals: [filled(field.id, element.name)],
          isDone: (state) => state[field.id] === element.name,
        },
      ]);
    }
    return undefined;
  },
};

/** Types the number of elements of a kind into a field. */
const count: TaskMaker = {
  widgets: ['field', 'checkboxes', 'buttons', 'shapes', 'list'],
  make: (situation) => {
    const { view, random } = situation;
    const fields = partsOf(situation, 'field').filter(({ id }) => (view.get(id)!.value ?? '') === '');
    const counted = NOUNS.map((noun) => ({ noun, found: ofNoun(noun, view) })).filter(({ noun, found }) => {
      return found.length > 1 && noun.kinds.every((kind) => COUNTED.includes(kind));
    });
    if (fields.length === 0 || counted.length === 0) return undefined;
    const { noun, found } = random.pick(counted);
    const { id } = random.pick(fields);
    const text = String(found.length);
    const question = () =>
      `${random.pick(['the number of', 'how many', 'the count of'])} ${random.pick(nounSlots(noun).nouns)}`;
    const asked = () => question().replace(/^(how many .*)/, '$1 there are');
    return maybeSubmitted(situation, [
      {
        order: orderOn(situation, ANSWER_INTO, view.get(id)!, () => ({ question: asked() })),
        subgoals: [filled(id, text)],
        isDone: (state) => state[id] === text,
      },
    ]);
  },
};

const COUNTED: readonly ElementKind[] = [
  'checkbox',
  'button',
  'shape',
  'list item',
  'radio',
  'link',
  'tab',
  'close button',
];

const LEAST_TYPED = 2;

/** Types some letters into a field, then selects a suggestion. */
const autocomplete: TaskMaker = {
  widgets: ['autocomplete', 'text', 'buttons'],
  make: (situation) => {
    const { view, random } = situation;
    const parts = partsOf(situation, 'autocomplete').filter(({ id }) => (view.get(id)!.value ?? '') === '');
    const part = parts[0];
    const items = sayable(situation, part?.items ?? []).filter(({ name }) => name.length > LEAST_TYPED + 1);
    if (part === undefined || items.length === 0) return undefined;
    const item = random.pick(items);
    const start = item.name.slice(0, LEAST_TYPED + random.below(item.name.length - LEAST_TYPED - 1)).trim();
    const slots = () => ({ start: mentionExactly(start, random), text: mentioned(situation, item.name) });
    return [
      {
        order: orderOn(situation, PICK_SUGGESTION, view.get(part.id)!, slots),
        subgoals: [
          (seen) => {
            const field = seen.get(part.id);
            if (field?.value === item.name) return 'reached';
            const suggestion = clicked(item.id)(seen);
            return suggestion === 'unseen' ? filled(part.id, start)(seen) : suggestion;
          },
        ],
        isDone: (state) => state[part.id] === item.name,
      },
    ];
  },
};

const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
);

const ENDINGS = ['th', 'st', 'nd', 'rd'];

function ordinal(day: number): string {
  const isTeen = day > 10 && day < 20;
  return `${day}${(isTeen ? undefined : ENDINGS[day % 10]) ?? 'th'}`;
}

/** Selects a day in the initial month of a calendar. */
const date: TaskMaker = {
  widgets: ['date picker', 'text', 'buttons'],
  make: (situation) => {
    const { view, random } = situation;
    const parts = partsOf(situation, 'date picker').filter(
      ({ id, month }) => month !== undefined && view.get(id)!.kind === 'text field',
    );
    const part = parts[0];
    if (part?.month === undefined) return undefined;
    const [year, month] = part.month;
    const day = 1 + random.below(28);
    const two = (value: number) => String(value).padStart(2, '0');
    const written = part.format!.replace('Y', String(year)).replace('M', two(month)).replace('D', two(day));
    if (view.get(part.id)!.value === written) return undefined;
    const said = () =>
      mentioned(
        situation,
        random.pick([
          written,
          `${MONTHS[month - 1]} ${day}, ${year}`,
          `${day} ${MONTHS[month - 1]} ${year}`,
          `the ${ordinal(day)} of ${MONTHS[month - 1]} ${year}`,
        ]),
      );
    return [
      {
        order: orderOn(situation, PICK_DATE, view.get(part.id)!, () => ({ date: said() })),
        subgoals: [
          (seen) => {
            if (seen.get(part.id)?.value === written) return 'reached';
            const cell = seen.elements.find((element) => {
              const isOurs = seen.ancestors(element).some(({ name }) => name === part.name);
              return element.kind === 'date' && element.name === String(day) && isOurs;
            });
            return opened(part.id, cell === undefined ? () => 'unseen' : clicked(cell.id))(seen);
          },
        ],
        isDone: (state) => state[part.id] === written,
      },
    ];
  },
};

export const FIELD_TASKS = {
  type,
  'type and enter': typeAndEnter,
  clear,
  'drop-down': dropDown,
  form,
  answer,
  count,
  autocomplete,
  date,
};

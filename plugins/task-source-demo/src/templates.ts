import { equals, type Category, type Goal, type Move, type StartValue } from './goal';
import * as words from './words';
import { controlPath, keyOf } from './words';

/** A sentence with `{slots}`, and its meaning for each choice of words. */
export interface Template {
  pattern: string;
  /** Slot → allowed words. */
  slots: Record<string, readonly string[]>;
  /** Null if the combination of words is invalid. */
  build(words: Record<string, string>): Meaning | null;
}

export type Meaning = Omit<Goal, 'sentence' | 'from' | 'shown'> & { from?: string; shown?: string };

type Unsolved = Record<string, StartValue>;

const ON_OFF = ['on', 'off'];
const DIGITS = [1, 2, 3, 4, 5];

function screenGoal(category: Category, place: string, from?: string): Meaning {
  return { category, place, moves: [], checks: [equals('screen', place)], unsolved: {}, from };
}

function moveGoal(
  category: Category,
  place: string,
  move: Move,
  unsolved: Unsolved = {},
  shown: string = place,
): Meaning {
  return { category, place, moves: [move], shown, checks: [move.until], unsolved };
}

function press(element: string, label: string, path: string, value: unknown): Move {
  return { kind: 'press', element, label, until: equals(path, value) };
}

const others = (list: readonly string[], word: string) => ({
  oneOf: list.filter((other) => other !== word).map(keyOf),
});

// ---- toggles and steppers ----------------------------------------------------------------------------------------

function placeOf(table: Readonly<Record<string, readonly string[]>>, label: string): string {
  return Object.keys(table).find((screen) => table[screen].includes(label))!;
}

function categoryOf(place: string): Category {
  if (place.startsWith('settings')) return 'settings';
  return place === 'alerts' ? 'system' : 'app';
}

function toggleGoal(labels: string[], on: boolean): Meaning | null {
  const place = placeOf(words.TOGGLES, labels[0]);
  if (new Set(labels).size < labels.length) return null;
  if (labels.some((label) => !words.TOGGLES[place].includes(label))) return null;
  const element = place === 'alerts' ? 'quick' : 'toggle';
  const moves = labels.map((label) => press(element, label, controlPath(place, label), on));
  return {
    category: categoryOf(place),
    place,
    moves,
    checks: moves.map((move) => move.until),
    unsolved: Object.fromEntries(moves.map((move) => [move.until.path, !on])),
  };
}

function stepperGoal(label: string, value: number): Meaning {
  const place = placeOf(words.STEPPERS, label);
  const path = controlPath(place, label);
  const near = DIGITS.filter((digit) => digit !== value && Math.abs(digit - value) <= 2);
  const move: Move = { kind: 'step', label, path, to: value, until: equals(path, value) };
  return moveGoal(categoryOf(place), place, move, { [path]: { oneOf: near } });
}

const TOGGLE_LABELS = Object.values(words.TOGGLES).flat();

const CONTROLS: Template[] = [
  {
    pattern: 'Turn {state} {toggle}',
    slots: { state: ON_OFF, toggle: TOGGLE_LABELS },
    build: ({ state, toggle }) => toggleGoal([toggle], state === 'on'),
  },
  {
    pattern: 'First turn {state} {toggle}, then {other}',
    slots: { state: ON_OFF, toggle: TOGGLE_LABELS, other: TOGGLE_LABELS },
    build: ({ state, toggle, other }) => toggleGoal([toggle, other], state === 'on'),
  },
  {
    pattern: 'Set {stepper} to {value}',
    slots: { stepper: Object.values(words.STEPPERS).flat(), value: DIGITS.map(String) },
    build: ({ stepper, value }) => stepperGoal(stepper, Number(value)),
  },
  {
    pattern: 'Set Language to {language}',
    slots: { language: words.LANGUAGES },
    build: ({ language }) =>
      moveGoal(
        'settings',
        'settings/language',
        press('radio', language, 'settings.language', keyOf(language)),
        { 'settings.language': others(words.LANGUAGES, language) },
      ),
  },
];

// ---- system and navigation ---------------------------------------------------------------------------------------

const PLACES: Template[] = [
  {
    pattern: 'Open {app}',
    slots: { app: words.APPS },
    build: ({ app }) => screenGoal('navigation', keyOf(app)),
  },
  {
    pattern: 'Open {page} settings',
    slots: { page: words.PAGES },
    build: ({ page }) => screenGoal('navigation', `settings/${keyOf(page)}`),
  },
  { pattern: 'Open Timer', slots: {}, build: () => screenGoal('navigation', 'clock/timer') },
  {
    pattern: 'Open chat with {person}',
    slots: { person: words.CHATS },
    build: ({ person }) => screenGoal('navigation', `chat/${keyOf(person)}`),
  },
  {
    pattern: 'Open contact {person}',
    slots: { person: words.PEOPLE },
    build: ({ person }) => screenGoal('navigation', `people/${keyOf(person)}`),
  },
  { pattern: 'Click the bell to open Alerts', slots: {}, build: () => screenGoal('system', 'alerts') },
  {
    pattern: 'Click the circle to go home',
    slots: {},
    build: () => screenGoal('system', 'home', 'settings'),
  },
  { pattern: 'Unlock phone', slots: {}, build: () => screenGoal('system', 'home', 'lock') },
  {
    pattern: 'Clear Alerts',
    slots: {},
    build: () =>
      moveGoal('system', 'alerts', press('button', 'Clear', 'notifications', []), {
        notifications: { oneOf: [['Anna'], ['Update', 'Ben'], ['Carl', 'Alarm'], ['Ben', 'Anna', 'Update']] },
      }),
  },
];

// ---- apps --------------------------------------------------------------------------------------------------------

function switchGoal(
  place: string,
  on: boolean,
  elements: [string, string],
  label: string,
  path: string,
): Meaning {
  return moveGoal('app', place, press(on ? elements[0] : elements[1], label, path, on), { [path]: !on });
}

function likeGoal(song: string): Meaning {
  const path = `apps.music.liked.${keyOf(song)}`;
  return moveGoal('app', 'music', press('like', song, path, true), { [path]: false });
}

function installGoal(app: string, on: boolean): Meaning {
  return switchGoal('store', on, ['get', 'remove'], app, `apps.store.installed.${keyOf(app)}`);
}

function favoriteGoal(person: string, on: boolean): Meaning {
  const id = keyOf(person);
  return switchGoal(`people/${id}`, on, ['toggle', 'toggle'], 'Favorite', `apps.people.favorite.${id}`);
}

function timerGoal(on: boolean): Meaning {
  const move = press('button', on ? 'Start' : 'Stop', 'apps.clock.running', on);
  return moveGoal('app', 'clock/timer', move, { 'apps.clock.running': !on });
}

const IN_APPS: Template[] = [
  { pattern: 'Start Timer', slots: {}, build: () => timerGoal(true) },
  { pattern: 'Stop Timer', slots: {}, build: () => timerGoal(false) },
  {
    pattern: 'Play {song}',
    slots: { song: words.SONGS },
    build: ({ song }) =>
      moveGoal('app', 'music', press('song', song, 'apps.music.playing', keyOf(song)), {
        'apps.music.playing': others(['none', ...words.SONGS], song),
      }),
  },
  {
    pattern: 'Click the heart after {song}',
    slots: { song: words.SONGS },
    build: ({ song }) => likeGoal(song),
  },
  { pattern: 'Get {item}', slots: { item: words.STORE }, build: ({ item }) => installGoal(item, true) },
  { pattern: 'Remove {item}', slots: { item: words.STORE }, build: ({ item }) => installGoal(item, false) },
  {
    pattern: 'Take photo',
    slots: {},
    build: () =>
      moveGoal(
        'app',
        'camera',
        {
          kind: 'press',
          element: 'button',
          label: 'Take photo',
          until: { path: 'apps.camera.photos', operator: 'at_least', value: 1 },
        },
        { 'apps.camera.photos': 0 },
      ),
  },
  {
    pattern: 'Call {person}',
    slots: { person: words.PEOPLE },
    build: ({ person }) =>
      moveGoal(
        'app',
        `people/${keyOf(person)}`,
        press('button', 'Call', 'apps.people.calling', keyOf(person)),
        {},
        `people/${keyOf(person)}/call`,
      ),
  },
  {
    pattern: 'Add {person} to Favorites',
    slots: { person: words.PEOPLE },
    build: ({ person }) => favoriteGoal(person, true),
  },
  {
    pattern: 'Remove {person} from Favorites',
    slots: { person: words.PEOPLE },
    build: ({ person }) => favoriteGoal(person, false),
  },
  {
    pattern: 'Delete note {note}',
    slots: { note: words.NOTES },
    build: ({ note }) =>
      moveGoal(
        'app',
        `notes/${note}`,
        press('button', 'Delete', `apps.notes.saved.${note}`, false),
        {
          [`apps.notes.saved.${note}`]: true,
        },
        'notes',
      ),
  },
];

// ---- text --------------------------------------------------------------------------------------------------------

function enter(text: string, submit: string | null, path: string, value: unknown): Move {
  return { kind: 'enter', text, submit, until: equals(path, value) };
}

const TEXT: Template[] = [
  {
    pattern: 'Type "{note}" as a note and click Save',
    slots: { note: words.NOTES },
    build: ({ note }) =>
      moveGoal(
        'input',
        'notes/new',
        enter(note, 'Save', `apps.notes.saved.${note}`, true),
        {
          [`apps.notes.saved.${note}`]: false,
        },
        'notes',
      ),
  },
  {
    pattern: 'Type "{greeting}" to {person} and click Send',
    slots: { greeting: words.GREETINGS, person: words.CHATS },
    build: ({ greeting, person }) =>
      moveGoal(
        'input',
        `chat/${keyOf(person)}`,
        enter(greeting, 'Send', `apps.chat.last.${keyOf(person)}`, greeting),
      ),
  },
  {
    pattern: 'Type "{name}" as a name and click Save',
    slots: { name: words.NEWCOMERS },
    build: ({ name }) =>
      moveGoal(
        'input',
        'people/new',
        enter(name, 'Save', `apps.people.known.${keyOf(name)}`, true),
        {
          [`apps.people.known.${keyOf(name)}`]: false,
        },
        `people/${keyOf(name)}`,
      ),
  },
  {
    pattern: 'Type "{item}" into Search',
    slots: { item: words.STORE },
    build: ({ item }) => moveGoal('input', 'store', enter(item, null, 'apps.store.query', item)),
  },
];

export const TEMPLATES: readonly Template[] = [...CONTROLS, ...PLACES, ...IN_APPS, ...TEXT];

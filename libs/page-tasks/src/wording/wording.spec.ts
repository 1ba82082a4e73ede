import { Random } from '@ui-rl/random';
import '..';
import { decorate } from './decorate';
import { expansions } from './grammar';
import { isHeldOutName, mention, mentionExactly, mayName } from './mention';
import { ALL_PHRASES } from './phrases';
import * as orders from './orders';
import { isTaken, marked, skeletonOf, unmarked } from './provenance';
import * as readings from './readings';
import * as tasks from './tasks';

/** Used instead of the general click phrases. */
const ORDERS_OF_ONE_KIND = [
  'PRESS_BUTTON',
  'OPEN',
  'SWITCH_TO',
  'SELECT',
  'TURN_ON',
  'TURN_OFF',
  'UNFOLD',
  'FOLD',
  'DROP_DOWN',
];

describe('wordings', () => {
  it.each([...Object.entries(orders), ...Object.entries(readings), ...Object.entries(tasks)])(
    'are many: %s',
    (name, { training }) => {
      const isOfOneKind = ORDERS_OF_ONE_KIND.includes(name);
      expect(new Set(training.flatMap(expansions)).size).toBeGreaterThanOrEqual(isOfOneKind ? 6 : 15);
    },
  );

  it('held out are never among those of training', () => {
    const training = new Set(ALL_PHRASES.flatMap((each) => each.training.flatMap(expansions)));
    const both = ALL_PHRASES.flatMap((each) => each.heldOut.flatMap(expansions)).filter((each) =>
      training.has(each),
    );
    expect(both).toEqual([]);
  });

  it('begin with a small letter, so that they can stand in a sentence', () => {
    const texts = ALL_PHRASES.flatMap(({ training, heldOut }) =>
      [...training, ...heldOut].flatMap(expansions),
    );
    expect(texts.filter((text) => !/^[a-z<[]/.test(text))).toEqual([]);
  });
});

describe('names in goals', () => {
  const said = (say: (random: Random) => string) =>
    new Set(Array.from({ length: 200 }, (_, seed) => unmarked(say(new Random(seed)))));

  it('come with and without quotes, in the case of the screen and in others', () => {
    const forms = said((random) => mention('Save all', random));
    for (const form of ['Save all', '"Save all"', "'Save all'", '“Save all”', 'save all', 'SAVE ALL']) {
      expect(forms).toContain(form);
    }
  });

  it('to be typed keep their case', () => {
    expect([...said((random) => mentionExactly('aB-c', random))].every((form) => form.includes('aB-c'))).toBe(
      true,
    );
  });

  it.each(['the', '.', 'a.', '-5 %!', 'Say "no"'])(
    'stand in quotes where a reader would stumble: %s',
    (name) => {
      expect([...said((random) => mention(name, random))].every((form) => /^["'“]/.test(form))).toBe(true);
    },
  );

  it('are held out for one in about twelve long names, in any case', () => {
    const names = Array.from({ length: 1200 }, (_, i) => `Account ${i}`);
    const held = names.filter(isHeldOutName);
    expect(held.length).toBeGreaterThan(60);
    expect(held.length).toBeLessThan(150);
    expect(isHeldOutName(held[0].toUpperCase())).toBe(true);
    expect(mayName(held[0], 'training')).toBe(false);
    expect(mayName(held[0], 'held-out')).toBe(true);
    expect(isHeldOutName('Submit')).toBe(false);
  });
});

describe('skeletons of goals', () => {
  it.each([
    ['Click "OK" now.', 'click * now'],
    [`Click ${marked('the red one')}, then 15 times`, 'click * then * times'],
    ["Type “a b” 'c'", 'type *'],
    ["Anna's 3rd row", 'anna s * row'],
  ])('%s', (goal, skeleton) => {
    expect(skeletonOf(goal)).toBe(skeleton);
  });

  it.each([
    'Turn on Bluetooth',
    'turn on "Dark mode"',
    'Click on the "No" button.',
    'Click the heart after River',
  ])('tell a goal of a benchmark or of the demo phone: %s', (goal) => {
    expect(isTaken(goal)).toBe(true);
  });

  it('never become a goal: another wording is said', () => {
    const random = new Random(1);
    const order = () => random.pick([`turn on ${marked('Wi-Fi')}`, `switch ${marked('Wi-Fi')} on`]);
    const goals = Array.from({ length: 50 }, () => decorate(order, random, 'training'));
    expect(goals.filter((goal) => /turn on/i.test(goal))).toEqual([]);
  });

  it('of which all are taken get words before them', () => {
    const random = new Random(1);
    const goals = Array.from({ length: 50 }, () =>
      decorate(() => `turn on ${marked('Wi-Fi')}`, random, 'training'),
    );
    expect(goals.filter((goal) => /^turn on Wi-Fi\.?$/i.test(goal))).toEqual([]);
  });
});

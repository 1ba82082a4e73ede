import { jsonDialect } from '@ui-rl/actions';
import { Random } from '@ui-rl/random';
import { element, screenOf } from '../../test/hand-drawn';
import { HOWS, referenceBy, refer, type How } from '../references';
import { holds } from '../screen/boxes';
import { ScreenView } from '../screen/view';
import type { ScreenTruth } from '@ui-rl/page-generator';
import { unmarked } from '../wording/provenance';
import { pointQuestions } from './point';

const form = screenOf(
  element('heading', 'Trip', [10, 0, 60, 14], { interactive: false }),
  element('label', 'City', [10, 20, 30, 12], { interactive: false }),
  element('text field', 'City', [50, 20, 80, 14], { label: 2, value: 'Oslo', under: 'Trip' }),
  element('checkbox', 'Window', [10, 40, 12, 12], { label: 5, state: { checked: true }, hidden: true }),
  element('label', 'Window', [26, 40, 50, 12], { interactive: false }),
  element('checkbox', 'Aisle', [10, 56, 12, 12], { label: 7, hidden: true }),
  element('label', 'Aisle', [26, 56, 50, 12], { interactive: false }),
  element('button', 'Save', [10, 80, 40, 16]),
  element('button', 'Cancel', [60, 80, 50, 16]),
  element('shape', 'red circle', [10, 110, 20, 20], {
    attributes: { color: 'red', shape: 'circle', size: 'small' },
  }),
  element('shape', 'blue circle', [40, 110, 20, 20], {
    attributes: { color: 'blue', shape: 'circle', size: 'small' },
  }),
  element('icon', 'trash', [80, 110, 16, 16], { attributes: { icon: 'trash' } }),
);

const table = screenOf(
  element('table', '', [0, 0, 160, 60], { interactive: false }),
  element('column header', 'Name', [0, 0, 50, 14], { column: 0, parent: 1, interactive: false }),
  element('column header', 'Price', [50, 0, 50, 14], { column: 1, parent: 1, interactive: false }),
  element('table row', '', [0, 16, 160, 16], { row: 0, parent: 1, interactive: false }),
  element('table cell', 'Pear', [0, 16, 50, 16], { row: 0, column: 0, parent: 4, interactive: false }),
  element('table cell', '$3', [50, 16, 50, 16], { row: 0, column: 1, parent: 4, interactive: false }),
  element('button', 'Buy', [110, 16, 40, 14], { parent: 4 }),
  element('table row', '', [0, 34, 160, 16], { row: 1, parent: 1, interactive: false }),
  element('table cell', 'Plum', [0, 34, 50, 16], { row: 1, column: 0, parent: 8, interactive: false }),
  element('table cell', '$5', [50, 34, 50, 16], { row: 1, column: 1, parent: 8, interactive: false }),
  element('button', 'Buy', [110, 34, 40, 14], { parent: 8 }),
);

/** All references to an element of one kind. */
function said(truth: ScreenTruth, id: number, how: How): string {
  const view = new ScreenView(truth);
  const found = Array.from({ length: 60 }, (_, seed) => {
    const random = new Random(seed);
    const reference = referenceBy(how, view.get(id)!, view, random, 'training');
    return reference === undefined ? '' : unmarked(refer(reference, random, 'training'));
  });
  return found.join('\n');
}

describe('references', () => {
  it.each<[string, ScreenTruth, number, How, RegExp]>([
    ['a button by its name', form, 8, 'name', /Save/],
    ['a button by kind and name', form, 8, 'kind and name', /the "?Save"? button/],
    ['a checkbox by its label', form, 4, 'label', /next to/],
    ['a checkbox by its state', form, 4, 'state', /ticked (checkbox|check box|tick box)/],
    [
      'a field as the only one',
      form,
      3,
      'only of its kind',
      /the (text field|text box|text input|field|input)/,
    ],
    ['a field by its value', form, 3, 'value', /Oslo/],
    ['a field by its heading', form, 3, 'heading', /under/],
    ['a shape by its looks', form, 10, 'looks', /red (circle|shape|figure)/],
    ['an icon by its name', form, 12, 'icon', /trash/],
    ['a button by its place', form, 9, 'place', /second button/],
    ['a button by its neighbour', form, 9, 'beside', /right of "?Save/],
    ['a button in a row', table, 11, 'row', /Plum/],
    ['a cell by row and column', table, 10, 'column', /Price/],
  ])('say %s', (_, truth, id, how, expected) => {
    expect(said(truth, id, how)).toMatch(expected);
  });

  it.each<[string, ScreenTruth, number, How]>([
    ['a name that is there twice', table, 7, 'name'],
    ['a kind and name that are there twice', table, 7, 'kind and name'],
    ['a kind of which there are two', form, 8, 'only of its kind'],
    ['a shape that two have', form, 10, 'name'],
    ['a state that none shows', form, 8, 'state'],
    ['a row for what stands in none', form, 8, 'row'],
  ])('never say %s', (_, truth, id, how) => {
    expect(said(truth, id, how).trim()).toBe('');
  });

  it('never say a colour alone where two have it', () => {
    const looks = (color: string, shape: string) => ({ attributes: { color, shape, size: 'small' } });
    const truth = screenOf(
      element('shape', 'red circle', [10, 10, 20, 20], looks('red', 'circle')),
      element('shape', 'red square', [40, 10, 20, 20], looks('red', 'square')),
    );
    expect(said(truth, 1, 'looks')).toMatch(/circle/);
    expect(said(truth, 1, 'looks')).not.toMatch(/red (shape|figure)/);
  });

  it.each(HOWS)('never say an element of which 3 pixels are left, by %s', (how) => {
    const rest = element('shape', 'red circle', [10, 205, 20, 3]);
    expect(said(screenOf(rest, element('button', 'Save', [10, 10, 40, 16])), 1, how).trim()).toBe('');
  });

  it('never say a name that the screen cuts off', () => {
    const cut = screenOf(element('button', 'Save', [10, 10, 40, 16], { hidden: true }));
    expect(said(cut, 1, 'name').trim()).toBe('');
  });

  it('never say a neighbour where two are about as near', () => {
    const truth = screenOf(
      element('label', 'Pick', [60, 10, 40, 12], { interactive: false }),
      element('button', 'One', [40, 30, 30, 14]),
      element('button', 'Two', [75, 30, 30, 14]),
    );
    expect(said(truth, 2, 'beside')).not.toMatch(/Pick/);
  });
});

describe('questions that point', () => {
  it('aim inside the element that they name', () => {
    for (let seed = 0; seed < 40; seed++) {
      for (const { action, target } of pointQuestions(form, new Random(seed), {
        count: 4,
        split: 'training',
      })) {
        const boxes = form.elements.filter(({ id }) => target.includes(id)).map(({ box }) => box);
        const { x, y } = action as { x: number; y: number };
        expect(boxes.some((box) => holds(box, x, y))).toBe(true);
      }
    }
  });

  it('avoid what lies over the element', () => {
    const truth = screenOf(
      element('list item', 'Parcel', [0, 0, 160, 20]),
      element('button', 'Open', [40, 0, 80, 20], { parent: 1 }),
    );
    expect(new ScreenView(truth).pointIn(truth.elements[0])).toEqual([36, 12]);
  });

  it('choose the grid point nearest to the center, or the center of what holds no grid point', () => {
    const truth = screenOf(
      element('button', 'Open', [10, 30, 40, 20]),
      element('checkbox', 'All', [61, 101, 7, 7]),
    );
    const view = new ScreenView(truth);
    expect(view.pointIn(truth.elements[0])).toEqual([28, 36]);
    expect(view.pointIn(truth.elements[1])).toEqual([64, 104]);
  });

  it('are the same for the same seed', () => {
    const ask = () => pointQuestions(form, new Random(7), { count: 6, split: 'training' });
    expect(ask()).toEqual(ask());
  });

  it('are answered in the action format of the small model', () => {
    const sizes = { screenshot: form, modelImage: form };
    for (const { action } of pointQuestions(form, new Random(1), { count: 9, split: 'training' })) {
      expect(jsonDialect.parse(jsonDialect.format([action], sizes), sizes)).toEqual({
        ok: true,
        actions: [action],
      });
    }
  });

  it('use other words where wordings are held out', () => {
    const goals = (split: 'training' | 'held-out') =>
      Array.from({ length: 40 }, (_, seed) => pointQuestions(form, new Random(seed), { count: 2, split }))
        .flat()
        .map(({ goal }) => goal);
    const seen = new Set(goals('training'));
    const unseen = goals('held-out').filter((goal) => !seen.has(goal));
    expect(unseen.length).toBeGreaterThan(70);
  });
});

import { COLOR_NAMES, ELEMENT_KINDS, type ScreenTruth, type TruthElement } from '@ui-rl/page-generator';
import { classOf } from './alphabet';
import { crop } from './crop';
import { CHARACTERS_PER_PATCH, PATCHES_PER_TOKEN, readingHeads, STATES } from './heads';
import { editDistance, linesOf, readingScore } from './score';
import { offsetClass, offsetOf, targetsOf } from './targets';

const button: TruthElement = {
  id: 1,
  kind: 'button',
  name: 'Go',
  box: [16, 16, 40, 16],
  center: [36, 24],
  interactive: true,
  state: { disabled: false },
  attributes: { color: 'red' },
};
const truth: ScreenTruth = {
  width: 64,
  height: 48,
  // Three horizontally adjacent patches: "G" and "o" are in the second, "!" in the third.
  characters: [
    { text: 'o', box: [13, 18, 3, 8] },
    { text: 'G', box: [8, 18, 4, 8] },
    { text: '!', box: [17, 18, 2, 8] },
  ],
  elements: [button],
};
const heads = readingHeads();

/** The characters of a token's patches, patch by patch. */
function said(characters: Int32Array, token: number): number[][] {
  const size = PATCHES_PER_TOKEN * CHARACTERS_PER_PATCH;
  const all = Array.from(characters.subarray(token * size, (token + 1) * size));
  return Array.from({ length: PATCHES_PER_TOKEN }, (_, patch) =>
    all.slice(patch * CHARACTERS_PER_PATCH, (patch + 1) * CHARACTERS_PER_PATCH),
  );
}

test('each patch names the characters whose centers it holds, from left to right', () => {
  const { characters } = targetsOf(truth, heads);
  expect(said(characters, 4)[1]).toEqual([classOf('G'), classOf('o'), 0]);
  expect(said(characters, 5)[0]).toEqual([classOf('!'), 0, 0]);
  expect(said(characters, 0).flat()).toEqual(Array(12).fill(0));
});

test('image tokens name their place, and the kind, center, state and looks of the element they show', () => {
  const targets = targetsOf(truth, heads);
  const kind = ELEMENT_KINDS.indexOf('button') + 1;
  expect(Array.from(targets.kind)).toEqual([0, 0, 0, 0, 0, kind, kind, kind, 0, 0, 0, 0]);
  // The token's own center is (24, 24).
  expect(offsetOf(targets.x[5])).toBe(12);
  expect(offsetOf(targets.y[5])).toBe(0);
  expect(targets.state[5 * STATES.length + STATES.indexOf('disabled')]).toBe(1);
  expect(Array.from(targets.color.subarray(4, 9))).toEqual([
    0,
    ...Array(3).fill(COLOR_NAMES.indexOf('red') + 1),
    0,
  ]);
  expect([targets.shape[5], targets.icon[5]]).toEqual([0, 0]);
  expect(Array.from(targets.row)).toEqual([1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
  expect(Array.from(targets.column.subarray(0, 4))).toEqual([1, 2, 3, 4]);
});

test('an element that a crop cuts off is not asked for', () => {
  const screen = { seed: 0, width: 64, height: 48, rgb: new Uint8Array(64 * 48 * 3), truth };
  const { truth: part } = crop(screen, [0, 0, 32, 48]);
  const targets = targetsOf(part, heads);
  expect(Array.from(targets.kind)).toEqual([0, 0, 0, -1, 0, 0]);
  expect(said(targets.characters, 2)[1]).toEqual([classOf('G'), classOf('o'), 0]);
});

test('a crop has the pixels and the places of its part of the screen', () => {
  const rgb = Uint8Array.from({ length: 64 * 48 * 3 }, (_, index) => Math.floor(index / 3) % 251);
  const part = crop({ seed: 0, width: 64, height: 48, rgb, truth }, [16, 16, 32, 16]);
  expect(part.rgb[0]).toBe((16 * 64 + 16) % 251);
  expect(part.rgb.at(-1)).toBe((31 * 64 + 47) % 251);
  expect(part.truth.elements[0].box).toEqual([0, 0, 40, 16]);
  expect(part.truth.characters.map(({ text }) => text)).toEqual(['!']);
});

test('offsets beyond the outermost class are in it', () => {
  expect([-81, -80, -2, 0, 3, 80, 500].map((pixels) => offsetOf(offsetClass(pixels)))).toEqual([
    -80, -80, 0, 0, 4, 80, 80,
  ]);
});

test.each([
  ['abc', 'abc', 0],
  ['abc', 'ab', 1],
  ['abc', 'axc', 1],
  ['', 'ab', 2],
  ['kitten', 'sitting', 3],
])('from %j to %j it is %d edits', (a, b, edits) => {
  expect(editDistance(a.split(''), b.split(''))).toBe(edits);
});

test('the score counts edits of lines, and centers inside their element', () => {
  const screen = { seed: 0, width: 64, height: 48, rgb: new Uint8Array(0), truth };
  const targets = targetsOf(truth, heads);
  const predicted = Object.fromEntries(
    Object.entries(targets).map(([name, values]) => [name, values.slice()]),
  );
  const score = () => readingScore([{ screen, targets, predicted }]);
  expect(linesOf(targets.characters, 4)[2]).toEqual(['G', 'o', '!']);
  expect(score()).toMatchObject({
    characterErrorRate: 0,
    charactersFound: 1,
    kinds: 1,
    centers: 1,
    states: 1,
    colors: 1,
    places: 1,
  });
  predicted.characters[5 * 12] = 0;
  predicted.x[5] = offsetClass(-40);
  predicted.kind[6] = 0;
  expect(score()).toMatchObject({
    characterErrorRate: 1 / 3,
    charactersFound: 2 / 3,
    kinds: 2 / 3,
    centers: 2 / 3,
    states: 1,
  });
});

test('a character that is read twice is an edit, but it is found', () => {
  const screen = { seed: 0, width: 64, height: 48, rgb: new Uint8Array(0), truth };
  const targets = targetsOf(truth, heads);
  const characters = targets.characters.slice();
  characters[1 * 12] = characters[5 * 12];
  expect(readingScore([{ screen, targets, predicted: { ...targets, characters } }])).toMatchObject({
    characterErrorRate: 1 / 3,
    charactersFound: 1,
  });
});

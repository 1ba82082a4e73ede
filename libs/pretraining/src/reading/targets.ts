import { type Box, ELEMENT_KINDS, type ScreenTruth, type TruthElement } from '@ui-rl/page-generator';
import { classOf, NOTHING } from './alphabet';
import {
  ATTRIBUTES,
  CHARACTERS_PER_PATCH,
  type Head,
  OFFSET_STEP,
  OFFSETS,
  outputsPerToken,
  PATCHES_PER_TOKEN,
  STATES,
} from './heads';

/** Pixels of a patch and of an image token, per axis. */
export const PATCH = 8;
export const TOKEN = 16;

/**
 * Classes by head, [rows, columns, count] of the image tokens of a screen, row by row; −1 excludes a target from the
 * loss.
 */
export type Targets = Record<string, Int32Array>;

const IGNORED = -1;

/** The targets of each image token of a screen. Sizes must be multiples of 16. */
export function targetsOf(truth: ScreenTruth, heads: readonly Head[]): Targets {
  const columns = Math.floor(truth.width / TOKEN);
  const rows = Math.floor(truth.height / TOKEN);
  const targets = Object.fromEntries(
    heads.map((head) => [head.name, new Int32Array(rows * columns * outputsPerToken(head))]),
  );
  writeCharacters(truth, rows, columns, targets.characters);
  // The patches of a token follow one another, so both heads have the same targets in the same order.
  targets.local.set(targets.characters);
  const elementAt = topmost(truth.elements);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      targets.row[row * columns + column] = row + 1;
      targets.column[row * columns + column] = column + 1;
      const element = elementAt(column * TOKEN, row * TOKEN);
      if (element === undefined) continue;
      const [x, y] = [column * TOKEN + TOKEN / 2, row * TOKEN + TOKEN / 2];
      writeElement(element, targets, row * columns + column, isCut(element, truth) ? undefined : [x, y]);
    }
  }
  return targets;
}

/**
 * @param center of the token; undefined if the element is not completely visible, so that its center is not a target
 */
function writeElement(
  element: TruthElement,
  targets: Targets,
  cell: number,
  center: readonly [number, number] | undefined,
): void {
  targets.kind[cell] = center === undefined ? IGNORED : ELEMENT_KINDS.indexOf(element.kind) + 1;
  targets.x[cell] = center === undefined ? IGNORED : offsetClass(element.center[0] - center[0]);
  targets.y[cell] = center === undefined ? IGNORED : offsetClass(element.center[1] - center[1]);
  for (const [name, values] of Object.entries(ATTRIBUTES)) {
    targets[name][cell] = values.indexOf(element.attributes?.[name as keyof typeof ATTRIBUTES] ?? '') + 1;
  }
  STATES.forEach((state, index) => {
    const value = element.state[state];
    if (value === undefined) return;
    targets.state[cell * STATES.length + index] = center === undefined ? IGNORED : value ? 2 : 1;
  });
}

function isCut({ box: [left, top, width, height] }: TruthElement, screen: ScreenTruth): boolean {
  return left < -1 || top < -1 || left + width > screen.width + 1 || top + height > screen.height + 1;
}

/** The class of an offset in pixels; the outermost classes include everything beyond. */
export function offsetClass(pixels: number): number {
  const middle = (OFFSETS - 1) / 2;
  return Math.min(OFFSETS - 1, Math.max(0, Math.round(pixels / OFFSET_STEP) + middle)) + 1;
}

/** The offset in pixels of a class. */
export function offsetOf(index: number): number {
  return (index - 1 - (OFFSETS - 1) / 2) * OFFSET_STEP;
}

/** Assigns characters to the patch that contains their center, from left to right; surplus characters are dropped. */
function writeCharacters(truth: ScreenTruth, rows: number, columns: number, out: Int32Array): void {
  const found = new Map<number, { x: number; index: number }[]>();
  for (const { text, box } of truth.characters) {
    const [x, y] = [box[0] + box[2] / 2, box[1] + box[3] / 2];
    const [column, row] = [Math.floor(x / PATCH), Math.floor(y / PATCH)];
    if (column < 0 || row < 0 || column >= 2 * columns || row >= 2 * rows) continue;
    const cell = (row >> 1) * columns + (column >> 1);
    const patch = cell * PATCHES_PER_TOKEN + (row & 1) * 2 + (column & 1);
    const list = found.get(patch) ?? [];
    list.push({ x, index: classOf(text) });
    found.set(patch, list);
  }
  for (const [patch, list] of found) {
    list.sort((a, b) => a.x - b.x);
    for (let slot = 0; slot < CHARACTERS_PER_PATCH; slot++) {
      out[patch * CHARACTERS_PER_PATCH + slot] = list[slot]?.index ?? NOTHING;
    }
  }
}

/** The smallest element that covers most of the covered area of a token. */
function topmost(elements: readonly TruthElement[]): (left: number, top: number) => TruthElement | undefined {
  const bySize = elements
    .filter(({ kind }) => kind !== 'text' && kind !== 'heading')
    .concat(elements.filter(({ kind }) => kind === 'text' || kind === 'heading'))
    .map((element) => ({ element, area: element.box[2] * element.box[3] }))
    .toSorted((a, b) => a.area - b.area);
  return (left, top) => {
    let best: TruthElement | undefined;
    let most = 0;
    for (const { element } of bySize) {
      const share = overlap(element.box, [left, top, TOKEN, TOKEN]);
      // A larger element must cover clearly more of the token than a smaller one inside it.
      if (share > most * 1.5 + 12) [best, most] = [element, share];
    }
    return best;
  };
}

function overlap(a: Box, b: Box): number {
  const width = Math.min(a[0] + a[2], b[0] + b[2]) - Math.max(a[0], b[0]);
  const height = Math.min(a[1] + a[3], b[1] + b[3]) - Math.max(a[1], b[1]);
  return width > 0 && height > 0 ? width * height : 0;
}

import { characterOf, NOTHING } from './alphabet';
import { CHARACTERS_PER_PATCH, PATCHES_PER_TOKEN } from './heads';
import { offsetOf, type Targets, TOKEN } from './targets';
import type { Screen } from '@ui-rl/page-generator';

export interface ReadingScore {
  /** Edit distance between predicted and actual lines, divided by the actual characters. */
  characterErrorRate: number;
  /** Share of characters that are named in their own patch; a second mention in another patch does not count. */
  charactersFound: number;
  /** Share of image tokens on an element with the correct kind. */
  kinds: number;
  /** Share of image tokens on an interactive element whose predicted center is inside it. */
  centers: number;
  /** Share of an element's states that are predicted. */
  states: number;
  /** Share of image tokens on a colored element with the correct color; the same for shapes and icons. */
  colors: number;
  shapes: number;
  icons: number;
  /** Share of image tokens whose row and column are predicted. */
  places: number;
}

export interface Reading {
  screen: Screen;
  targets: Targets;
  predicted: Targets;
}

export function readingScore(readings: readonly Reading[]): ReadingScore {
  let [edits, characters] = [0, 0];
  for (const { screen, targets, predicted } of readings) {
    const columns = screen.width / TOKEN;
    const shown = linesOf(targets.characters, columns);
    const read = linesOf(predicted.characters, columns);
    shown.forEach((line, index) => {
      edits += editDistance(line, read[index]);
      characters += line.length;
    });
  }
  return {
    characterErrorRate: edits / Math.max(1, characters),
    charactersFound: charactersFound(readings),
    kinds: agreement(readings, 'kind'),
    centers: centersInside(readings),
    states: agreement(readings, 'state'),
    colors: agreement(readings, 'color'),
    shapes: agreement(readings, 'shape'),
    icons: agreement(readings, 'icon'),
    places: (agreement(readings, 'row') + agreement(readings, 'column')) / 2,
  };
}

/** Text of the patch rows, from left to right. */
export function linesOf(characters: Int32Array, columns: number): string[][] {
  const rows = characters.length / (columns * PATCHES_PER_TOKEN * CHARACTERS_PER_PATCH);
  return Array.from({ length: 2 * rows }, (_, row) => {
    const line: string[] = [];
    for (let column = 0; column < 2 * columns; column++) {
      const cell = (row >> 1) * columns + (column >> 1);
      const patch = cell * PATCHES_PER_TOKEN + (row & 1) * 2 + (column & 1);
      for (let slot = 0; slot < CHARACTERS_PER_PATCH; slot++) {
        const index = characters[patch * CHARACTERS_PER_PATCH + slot];
        if (index > NOTHING) line.push(characterOf(index));
      }
    }
    return line;
  });
}

/** Levenshtein distance. */
export function editDistance(a: readonly string[], b: readonly string[]): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = previous[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(changed, previous[j] + 1, current[j - 1] + 1));
    }
    previous = current;
  }
  return previous[b.length];
}

function charactersFound(readings: readonly Reading[]): number {
  let [found, all] = [0, 0];
  for (const { targets, predicted } of readings) {
    for (let patch = 0; patch < targets.characters.length; patch += CHARACTERS_PER_PATCH) {
      const inPatch = (of: Targets) => of.characters.subarray(patch, patch + CHARACTERS_PER_PATCH);
      const named = Array.from(inPatch(predicted));
      for (const character of inPatch(targets)) {
        if (character === NOTHING) continue;
        all++;
        const at = named.indexOf(character);
        if (at < 0) continue;
        found++;
        named.splice(at, 1);
      }
    }
  }
  return found / Math.max(1, all);
}

function agreement(readings: readonly Reading[], head: string): number {
  let [right, all] = [0, 0];
  for (const { targets, predicted } of readings) {
    targets[head].forEach((target, index) => {
      if (target <= 0) return;
      all++;
      if (predicted[head][index] === target) right++;
    });
  }
  return right / Math.max(1, all);
}

function centersInside(readings: readonly Reading[]): number {
  let [right, all] = [0, 0];
  for (const { screen, targets, predicted } of readings) {
    const columns = screen.width / TOKEN;
    targets.x.forEach((target, cell) => {
      if (target <= 0) return;
      const [left, top] = [(cell % columns) * TOKEN, Math.floor(cell / columns) * TOKEN];
      const at = (head: 'x' | 'y', of: Targets) => offsetOf(of[head][cell]);
      const element = screen.truth.elements.find(
        ({ interactive, center }) =>
          interactive &&
          Math.abs(center[0] - left - TOKEN / 2 - at('x', targets)) <= 2 &&
          Math.abs(center[1] - top - TOKEN / 2 - at('y', targets)) <= 2,
      );
      if (element === undefined) return;
      all++;
      const [x, y] = [left + TOKEN / 2 + at('x', predicted), top + TOKEN / 2 + at('y', predicted)];
      const [bx, by, width, height] = element.box;
      if (x >= bx && y >= by && x < bx + width && y < by + height) right++;
    });
  }
  return right / Math.max(1, all);
}

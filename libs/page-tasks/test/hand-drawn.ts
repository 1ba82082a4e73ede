import type { Box, ElementKind, ScreenTruth, TruthCharacter, TruthElement } from '@ui-rl/page-generator';

type Drawn = Partial<Omit<TruthElement, 'id' | 'kind' | 'name' | 'box'>> & { id?: number; hidden?: boolean };

/** A hand-written element of a screen; its name is drawn in its box. */
export function element(kind: ElementKind, name: string, box: Box, rest: Drawn = {}): TruthElement & Drawn {
  const center = [box[0] + box[2] / 2, box[1] + box[3] / 2] as const;
  return { id: rest.id ?? 0, kind, name, box, center, interactive: true, state: {}, ...rest };
}

/** A screen of 160 × 208 pixels with elements; those without an id get their position as id, from 1. */
export function screenOf(...elements: (TruthElement & Drawn)[]): ScreenTruth {
  const numbered = elements.map((each, i) => ({ ...each, id: each.id === 0 ? i + 1 : each.id }));
  const written = numbered.filter(
    ({ kind, hidden }) => hidden !== true && kind !== 'icon' && kind !== 'shape',
  );
  const characters = written.flatMap((each) => lettersIn(each.value ?? each.name, each.box));
  return { width: 160, height: 208, characters, elements: numbered };
}

function lettersIn(text: string, [left, top, width, height]: Box): TruthCharacter[] {
  const letters = text.split('');
  const each = width / Math.max(1, letters.length);
  return letters
    .map((letter, i): TruthCharacter => ({ text: letter, box: [left + i * each, top, each, height] }))
    .filter(({ text: letter }) => letter !== ' ');
}

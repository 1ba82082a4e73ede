import type { Box, ScreenTruth, TruthElement } from '@ui-rl/page-generator';
import { canonical } from '../wording/mention';
import { contains, holds } from './boxes';

/** Minimum side of a target, in pixels. */
const SMALLEST = 4;
/** Pixels between the points at which targets are clicked. */
const GRID = 8;

/** Indexes a screen's elements for the lookups that references need. */
export class ScreenView {
  /** Elements that are large enough to be targets. */
  readonly elements: readonly TruthElement[];
  private readonly byId: ReadonlyMap<number, TruthElement>;
  private readonly byName = new Map<string, TruthElement[]>();
  private readonly texts = new Map<TruthElement, string>();
  private readonly lists = new Map<string, readonly TruthElement[]>();

  constructor(readonly truth: ScreenTruth) {
    this.elements = truth.elements.filter(({ box }) => box[2] >= SMALLEST && box[3] >= SMALLEST);
    this.byId = new Map(truth.elements.map((element) => [element.id, element]));
    for (const element of truth.elements) {
      const name = canonical(element.name);
      if (name !== '') this.byName.set(name, [...(this.byName.get(name) ?? []), element]);
    }
  }

  get(id: number | undefined): TruthElement | undefined {
    return id === undefined ? undefined : this.byId.get(id);
  }

  /** Elements that match a predicate, cached by key. */
  all(key: string, isOne: (element: TruthElement) => boolean): readonly TruthElement[] {
    const known = this.lists.get(key) ?? this.elements.filter(isOne);
    this.lists.set(key, known);
    return known;
  }

  /** All elements with a name, ignoring case. */
  named(name: string): readonly TruthElement[] {
    return this.byName.get(canonical(name)) ?? [];
  }

  /** The ancestors of an element, nearest first. */
  ancestors(element: TruthElement): TruthElement[] {
    const found: TruthElement[] = [];
    let parent = this.get(element.parent);
    while (parent !== undefined && !found.includes(parent)) {
      found.push(parent);
      parent = this.get(parent.parent);
    }
    return found;
  }

  /** Whether a text is completely visible in the box of the element or of its label. */
  shows(element: TruthElement, text: string): boolean {
    const letters = lettersOf(text);
    return this.same(element).some((each) => this.lettersIn(each).includes(letters));
  }

  private lettersIn(element: TruthElement): string {
    const known = this.texts.get(element);
    if (known !== undefined) return known;
    const inside = this.truth.characters.filter(({ box: [left, top, width, height] }) =>
      holds(element.box, left + width / 2, top + height / 2),
    );
    const letters = lettersOf(inside.map(({ text }) => text).join(''));
    this.texts.set(element, letters);
    return letters;
  }

  isInside(element: TruthElement, outer: TruthElement): boolean {
    return this.ancestors(element).includes(outer);
  }

  /** Elements that are equivalent click targets: itself, its label, and the element it labels. */
  same(element: TruthElement): TruthElement[] {
    const labelled = this.truth.elements.filter(({ label }) => label === element.id);
    const label = this.get(element.label);
    return [element, ...(label === undefined ? [] : [label]), ...labelled];
  }

  /**
   * The grid point nearest to the center of an element, inside it and not covered; the center if there is none. Few
   * coordinates, each of which many elements share, are learned in fewer steps than all of them.
   */
  pointIn(element: TruthElement): readonly [number, number] {
    const [cx, cy] = element.center;
    const blockers = this.truth.elements.filter((other) => this.mayBlock(other, element));
    const nearest = gridPointsIn(element.box)
      .toSorted((a, b) => Math.hypot(a[0] - cx, a[1] - cy) - Math.hypot(b[0] - cx, b[1] - cy))
      .find(([x, y]) => !blockers.some(({ box }) => holds(box, x, y)));
    return nearest ?? [Math.floor(cx), Math.floor(cy)];
  }

  /** Whether an element may cover part of another: it is neither its ancestor nor plain text inside it. */
  private mayBlock(other: TruthElement, element: TruthElement): boolean {
    if (other === element || contains(other.box, element.box)) return false;
    if (!other.interactive && this.isInside(other, element)) return false;
    return !this.isInside(element, other);
  }
}

/** The middles of squares of 8 pixels that a box contains, each at least a pixel from its edge. */
export function gridPointsIn([left, top, width, height]: Box): (readonly [number, number])[] {
  const xs = middlesIn(left + 1, left + width - 1);
  const ys = middlesIn(top + 1, top + height - 1);
  return xs.flatMap((x) => ys.map((y) => [x, y] as const));
}

function middlesIn(from: number, to: number): number[] {
  const first = Math.ceil((from - GRID / 2) / GRID);
  const end = Math.ceil((to - GRID / 2) / GRID);
  return Array.from({ length: Math.max(0, end - first) }, (_, index) => (first + index) * GRID + GRID / 2);
}

/** A text without spaces, which have no visible characters, and without case, which styles may change. */
function lettersOf(text: string): string {
  return text.replaceAll(/\s+/g, '').toLowerCase();
}

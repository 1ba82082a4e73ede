import type { Random } from '@ui-rl/random';
import type { ScreenTruth, TruthElement } from '@ui-rl/page-generator';
import { canonical } from '../wording/mention';
import { contains, holds } from './boxes';

/** Minimum side of a target, in pixels. */
const SMALLEST = 4;

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

  /** A point in the central half of an element that is not covered; its center if sampling finds none. */
  pointIn(element: TruthElement, random: Random): readonly [number, number] {
    const [left, top, width, height] = element.box;
    const blockers = this.truth.elements.filter((other) => this.mayBlock(other, element));
    for (let draw = 0; draw < 6; draw++) {
      const x = Math.floor(left + width * (0.25 + 0.5 * random.next()));
      const y = Math.floor(top + height * (0.25 + 0.5 * random.next()));
      if (!blockers.some(({ box }) => holds(box, x, y))) return [x, y];
    }
    return [Math.floor(element.center[0]), Math.floor(element.center[1])];
  }

  /** Whether an element may cover part of another: it is neither its ancestor nor plain text inside it. */
  private mayBlock(other: TruthElement, element: TruthElement): boolean {
    if (other === element || contains(other.box, element.box)) return false;
    if (!other.interactive && this.isInside(other, element)) return false;
    return !this.isInside(element, other);
  }
}

/** A text without spaces, which have no visible characters, and without case, which styles may change. */
function lettersOf(text: string): string {
  return text.replaceAll(/\s+/g, '').toLowerCase();
}

import type { Random } from '@ui-rl/random';
import type { PagePart } from './page';
import type { IconSet } from './look/icons';
import type { Theme } from './look/theme';
import type { ElementKind } from './truth';
import type { Texts } from './words/texts';

/** What the page says of an element in its `data-` attributes, for the ground truth to read. */
export interface Marks {
  name?: string;
  value?: string;
  color?: string;
  shape?: string;
  size?: string;
  icon?: string;
  row?: number;
  column?: number;
  label?: number;
  under?: string;
  /** Whether it answers to a pointer, where its kind does not say so. */
  interactive?: boolean;
}

/** A page while it is made: what its widgets draw from, and what they have put on it. */
export class Draft {
  readonly parts: PagePart[];
  private readonly ids: { last: number };

  constructor(
    readonly random: Random,
    readonly texts: Texts,
    readonly theme: Theme,
    readonly icons: IconSet,
    /** Width that a widget may take, in CSS pixels. */
    readonly width: number,
    within?: Draft,
  ) {
    this.parts = within?.parts ?? [];
    this.ids = within?.ids ?? { last: 0 };
  }

  /** The same page, for widgets that may be `width` CSS pixels wide. */
  narrowed(width: number): Draft {
    return new Draft(this.random, this.texts, this.theme, this.icons, width, this);
  }

  /** The next id of an element. */
  id(): number {
    this.ids.last += 1;
    return this.ids.last;
  }

  /** Draws whether something is so. */
  chance(probability: number): boolean {
    return this.random.chance(probability);
  }
}

export function escape(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');
}

/** The attributes that make an element of a page one of the ground truth. */
export function mark(id: number, kind: ElementKind, marks: Marks = {}): string {
  const own = Object.entries(marks)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` data-${name}="${escape(String(value))}"`);
  return `data-e="${id}" data-k="${kind}"${own.join('')}`;
}

/** A widget as HTML, with the height that it takes about, in CSS pixels. */
export interface Widget {
  html: string;
  height: number;
}

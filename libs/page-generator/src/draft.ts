import type { Random } from '@ui-rl/random';
import type { PagePart, PlacedKind } from './page';
import type { IconSet } from './look/icons';
import type { Theme } from './look/theme';
import type { ElementKind } from './truth';
import type { Texts } from './words/texts';

/** Properties of an element, stored in its `data-` attributes for the ground truth. */
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
  /** Whether it reacts to a pointer, if its kind does not determine that. */
  interactive?: boolean;
}

/** Resources shared by the widgets of one page. */
export interface Materials {
  random: Random;
  texts: Texts;
  theme: Theme;
  icons: IconSet;
  /** Creates a widget of a kind. */
  widget: (kind: PlacedKind, draft: Draft) => Widget;
}

/** A page under construction: the shared resources of its widgets, and the parts they have added. */
export class Draft {
  readonly parts: PagePart[];
  readonly random: Random;
  readonly texts: Texts;
  readonly theme: Theme;
  readonly icons: IconSet;
  private readonly ids: { last: number };

  constructor(
    private readonly materials: Materials,
    /** Available width for a widget, in CSS pixels. */
    readonly width: number,
    within?: Draft,
  ) {
    ({ random: this.random, texts: this.texts, theme: this.theme, icons: this.icons } = materials);
    this.parts = within?.parts ?? [];
    this.ids = within?.ids ?? { last: 0 };
  }

  /** The same page, for widgets that may be `width` CSS pixels wide. */
  narrowed(width: number): Draft {
    return new Draft(this.materials, width, this);
  }

  widget(kind: PlacedKind): Widget {
    return this.materials.widget(kind, this);
  }

  /** Stacks widgets of these kinds as the content of another one; visible while the element `inside` is open. */
  content(kinds: readonly PlacedKind[], count: number, inside?: number): Widget {
    const before = this.parts.length;
    const widgets = Array.from({ length: count }, () => this.widget(this.random.pick(kinds)));
    if (inside !== undefined) for (const part of this.parts.slice(before)) part.inside ??= inside;
    return {
      html: `<div class="c">${widgets.map(({ html }) => html).join('')}</div>`,
      height: widgets.reduce((sum, { height }) => sum + height + this.theme.gap, 0),
    };
  }

  /** The next id of an element. */
  id(): number {
    this.ids.last += 1;
    return this.ids.last;
  }

  /** True with the given probability. */
  chance(probability: number): boolean {
    return this.random.chance(probability);
  }
}

/** Kinds of widgets that fit into a panel or an accordion section. */
export const SMALL_KINDS: readonly PlacedKind[] = [
  'text',
  'text',
  'buttons',
  'links',
  'checkboxes',
  'radios',
  'field',
  'select',
  'list',
  'toggles',
  'icons',
];

export function escape(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');
}

/** The attributes that add an element of a page to the ground truth. */
export function mark(id: number, kind: ElementKind, marks: Marks = {}): string {
  const own = Object.entries(marks)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` data-${name}="${escape(String(value))}"`);
  return `data-e="${id}" data-k="${kind}"${own.join('')}`;
}

/** A widget as HTML, with its approximate height in CSS pixels. */
export interface Widget {
  html: string;
  height: number;
}

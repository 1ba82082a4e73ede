import { Random } from '@ui-rl/random';
import { Draft } from './draft';
import { LAYOUTS } from './layout/layouts';
import { assets } from './look/assets';
import { drawIconSet } from './look/icons';
import { stylesheet } from './look/stylesheet';
import { drawTheme } from './look/theme';
import { WIDGET_KINDS, type GeneratedPage, type Viewport, type WidgetKind } from './page';
import { WIDGETS } from './widgets';
import { dialogHtml } from './widgets/dialog';
import { Texts } from './words/texts';

export interface GenerateOptions {
  /** Multiples of 16; drawn from the seed where it is left out. */
  viewport?: Viewport;
  /** What the page is made of; every kind where it is left out. */
  kinds?: readonly WidgetKind[];
}

/** Share of the pages that a dialog covers at first. */
const COVERED = 0.1;

/** Width and height of viewports with how often they are drawn. */
const VIEWPORTS: readonly (readonly [number, number, number])[] = [
  [160, 208, 30],
  [160, 224, 10],
  [176, 208, 8],
  [176, 224, 12],
  [160, 160, 4],
  [192, 192, 4],
  [224, 160, 10],
  [320, 224, 8],
  [240, 320, 6],
  [384, 288, 2],
  [480, 352, 2],
];

/** One of a list whose last element is its weight. */
function weighted<T extends readonly unknown[]>(random: Random, list: readonly T[]): T {
  const weightOf = (each: T): number => each[each.length - 1] as number;
  let left = random.next() * list.reduce((sum, each) => sum + weightOf(each), 0);
  return list.find((each) => (left -= weightOf(each)) < 0) ?? list[list.length - 1];
}

function drawViewport(random: Random): Viewport {
  const [width, height] = weighted(random, VIEWPORTS);
  return { width, height };
}

/** A page of random widgets. Equal seeds, options and assets give equal bytes; needs no browser. */
export function generatePage(seed: number, options: GenerateOptions = {}): GeneratedPage {
  const random = new Random(seed);
  const drawn = drawViewport(random);
  const viewport = options.viewport ?? drawn;
  const theme = drawTheme(random, viewport.width);
  const icons = drawIconSet(random);
  const materials = {
    ...{ random, theme, icons, texts: new Texts(random) },
    widget: (kind: WidgetKind, at: Draft) => WIDGETS[kind].make(at),
  };
  const draft = new Draft(materials, viewport.width - 2 * theme.padding);
  const kinds = (options.kinds ?? WIDGET_KINDS).map((kind) => [kind, WIDGETS[kind].weight] as const);
  const [layout] = weighted(random, LAYOUTS);
  const content = layout(draft, viewport, () => weighted(random, kinds)[0]);
  const isCovered = random.chance(COVERED) && (options.kinds ?? WIDGET_KINDS).includes('dialog');
  const body = content + (isCovered ? dialogHtml(draft, 'cover', true) : '');
  return {
    seed,
    ...viewport,
    html: `<!doctype html><html><head><meta charset="utf-8"><style>${stylesheet(theme)}</style></head><body>${body}<script src="/page.js"></script></body></html>`,
    parts: draft.parts,
    assets: assets().digest,
  };
}

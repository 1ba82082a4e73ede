import { Random } from '@ui-rl/random';
import { Draft } from './draft';
import { LAYOUTS, ROOMY_LAYOUTS } from './layout/layouts';
import { assets } from './look/assets';
import { drawIconSet } from './look/icons';
import { dress, kitPath } from './look/kits';
import { stylesheet } from './look/stylesheet';
import { drawTheme } from './look/theme';
import { SCENE_KINDS, type GeneratedPage, type PlacedKind, type SceneKind, type Viewport } from './page';
import { SCENES } from './scenes';
import { WIDGETS } from './widgets';
import { dialogHtml } from './widgets/dialog';
import { notice } from './widgets/notice';
import { Texts } from './words/texts';

export interface GenerateOptions {
  /** Multiples of 16; sampled from the seed by default. */
  viewport?: Viewport;
  /** Kinds of widgets on the page; all kinds by default. */
  kinds?: readonly PlacedKind[];
  /** Whether lists, menus and sections have space to open without being clipped. */
  isRoomy?: boolean;
  /** The kind of scene; by default sampled, or none. */
  scene?: SceneKind;
}

/** Share of pages initially covered by a dialog. */
const COVERED = 0.1;
/** Share of pages with an instruction bar at the top. */
const NOTICED = 0.2;
/** Share of pages with a familiar scene. */
const SCENE_SHARE = 0.25;

/** Viewport widths and heights with their weights. */
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

/** A random item of a list; the last element of each item is its weight. */
function weighted<T extends readonly unknown[]>(random: Random, list: readonly T[]): T {
  const weightOf = (each: T): number => each[each.length - 1] as number;
  let left = random.next() * list.reduce((sum, each) => sum + weightOf(each), 0);
  return list.find((each) => (left -= weightOf(each)) < 0) ?? list[list.length - 1];
}

function drawViewport(random: Random): Viewport {
  const [width, height] = weighted(random, VIEWPORTS);
  return { width, height };
}

/** The scene of a page; none for a page of separate widgets. */
function drawScene(random: Random, { kinds, scene }: GenerateOptions): SceneKind | undefined {
  const drawn = random.pick(SCENE_KINDS);
  const isScene = random.chance(SCENE_SHARE) && kinds === undefined;
  return scene ?? (isScene ? drawn : undefined);
}

/** A page of random widgets. Equal seeds, options and assets give equal bytes; needs no browser. */
export function generatePage(seed: number, options: GenerateOptions = {}): GeneratedPage {
  const random = new Random(seed);
  const drawn = drawViewport(random);
  const viewport = options.viewport ?? drawn;
  const theme = drawTheme(random, viewport.width, seed);
  const icons = drawIconSet(random);
  const materials = {
    ...{ random, theme, icons, texts: new Texts(random) },
    widget: (kind: PlacedKind, at: Draft) => WIDGETS[kind].make(at),
  };
  const draft = new Draft(materials, viewport.width - 2 * theme.padding);
  const kinds = (options.kinds ?? (Object.keys(WIDGETS) as PlacedKind[])).map(
    (kind) => [kind, WIDGETS[kind].weight] as const,
  );
  const scene = drawScene(random, options);
  const [layout] = weighted(random, options.isRoomy === true ? ROOMY_LAYOUTS : LAYOUTS);
  const content =
    scene === undefined
      ? layout(draft, viewport, () => weighted(random, kinds)[0])
      : SCENES[scene](draft, viewport);
  const isCovered = random.chance(COVERED) && (options.kinds ?? ['dialog']).includes('dialog');
  const cover = isCovered ? dialogHtml(draft, 'cover', true) : '';
  const bar = random.chance(NOTICED) ? notice(draft) : '';
  const body = bar + content + cover;
  const { kit } = theme;
  const kitLink = kit === undefined ? '' : `<link rel="stylesheet" href="${kitPath(kit)}">`;
  return {
    seed,
    ...viewport,
    html: `<!doctype html><html><head><meta charset="utf-8">${kitLink}<style>${stylesheet(theme)}</style></head><body>${kit === undefined ? body : dress(body, kit)}<script src="/page.js"></script></body></html>`,
    parts: draft.parts,
    scene,
    assets: assets().digest,
  };
}

import type { Random } from '@ui-rl/random';
import { contrast, css, fromHsl, mix, readable, type Rgb } from './colors';
import { FONTS, type PageFont } from './fonts';
import { kitsFor, type Kit } from './kits';

export type ButtonLook = 'native' | 'filled' | 'outline' | 'flat' | 'raised' | 'soft';
export type FieldLook = 'native' | 'box' | 'underline' | 'filled' | 'inset';

/** The appearance of a page, sampled once for all of its widgets. */
export interface Theme {
  isDark: boolean;
  font: PageFont;
  headingFont: PageFont;
  /** Size of plain text, in CSS pixels. */
  size: number;
  background: Rgb;
  surface: Rgb;
  text: Rgb;
  muted: Rgb;
  accent: Rgb;
  onAccent: Rgb;
  border: Rgb;
  radius: number;
  borderWidth: number;
  gap: number;
  padding: number;
  lineHeight: number;
  buttons: ButtonLook;
  fields: FieldLook;
  /** Whether checkboxes, radios, selects and ranges are native. */
  nativeControls: boolean;
  headingWeight: number;
  headingTransform: 'none' | 'uppercase';
  linkUnderline: boolean;
  shadow: boolean;
  stripes: boolean;
  /** A stylesheet that replaces the theme for the page's controls. */
  kit?: Kit;
}

/** Sizes in CSS pixels; repeated entries are more frequent. */
const SIZES = [9, 10, 11, 11, 12, 12, 12, 13, 13, 13, 14, 14, 14, 15, 16, 16, 17, 18, 20];

function backgroundColor(random: Random, isDark: boolean): Rgb {
  if (isDark) return fromHsl(random.below(360), 0.4 * random.next(), 0.03 + 0.17 * random.next());
  if (random.chance(0.5)) return [255, 255, 255];
  return fromHsl(random.below(360), 0.7 * random.next(), 0.86 + 0.14 * random.next());
}

function accentColor(random: Random, background: Rgb): Rgb {
  const color = fromHsl(random.below(360), 0.3 + 0.7 * random.next(), 0.3 + 0.35 * random.next());
  return readable(color, background, 2.2);
}

/** Share of pages with a kit. */
const KIT_SHARE = 0.22;

/** Samples a theme. `width` is that of the viewport: narrow pages get small sizes. */
export function drawTheme(random: Random, width: number, seed: number): Theme {
  const kits = kitsFor(seed);
  const kit = random.chance(KIT_SHARE) && kits.length > 0 ? random.pick(kits) : undefined;
  const isDark = kit === undefined ? random.chance(0.28) : kit.isDark === true;
  const isPlain = kit !== undefined || (!isDark && random.chance(0.25));
  const background = isPlain && !isDark ? ([255, 255, 255] as const) : backgroundColor(random, isDark);
  const surface = mix(background, isDark ? [255, 255, 255] : [0, 0, 0], random.pick([0, 0.03, 0.06, 0.1]));
  const accent = accentColor(random, background);
  const font = random.pick(FONTS);
  const size = Math.min(random.pick(SIZES), width < 200 ? 17 : 20);
  const text = readable(
    mix(background, isDark ? [255, 255, 255] : [0, 0, 0], 0.6 + 0.4 * random.next()),
    surface,
    5,
  );
  return {
    isDark,
    font,
    headingFont: random.chance(0.75) ? font : random.pick(FONTS),
    size,
    background,
    surface,
    text: isPlain && !isDark ? [0, 0, 0] : text,
    muted: readable(mix(text, background, 0.4), surface, 3.2),
    accent,
    onAccent: contrast(accent, [255, 255, 255]) > 3 ? [255, 255, 255] : readable([20, 20, 20], accent, 4),
    border: mix(background, text, 0.15 + 0.5 * random.next()),
    kit,
    radius: isPlain ? 0 : random.pick([0, 0, 2, 3, 4, 4, 6, 8, 12, 20]),
    borderWidth: random.pick([1, 1, 1, 1, 2]),
    gap: random.pick([2, 3, 4, 5, 6, 8, 10]),
    padding: random.pick([0, 2, 4, 5, 8, 8, 10]),
    lineHeight: random.pick([1.1, 1.2, 1.25, 1.3, 1.4, 1.5]),
    buttons: isPlain
      ? 'native'
      : random.pick(['native', 'filled', 'filled', 'outline', 'flat', 'raised', 'soft']),
    fields: isPlain ? 'native' : random.pick(['native', 'box', 'box', 'underline', 'filled', 'inset']),
    nativeControls: isPlain || random.chance(0.5),
    headingWeight: random.pick([400, 700, 700]),
    headingTransform: random.chance(0.1) ? 'uppercase' : 'none',
    linkUnderline: random.chance(0.6),
    shadow: random.chance(0.3),
    stripes: random.chance(0.3),
  };
}

/** The theme as custom properties of the root. */
export function themeProperties(theme: Theme): string {
  const entries: [string, string | number][] = [
    ['bg', css(theme.background)],
    ['sf', css(theme.surface)],
    ['fg', css(theme.text)],
    ['mu', css(theme.muted)],
    ['ac', css(theme.accent)],
    ['oa', css(theme.onAccent)],
    ['bd', css(theme.border)],
    ['r', `${theme.radius}px`],
    ['bw', `${theme.borderWidth}px`],
    ['g', `${theme.gap}px`],
  ];
  return entries.map(([name, value]) => `--${name}:${value}`).join(';');
}

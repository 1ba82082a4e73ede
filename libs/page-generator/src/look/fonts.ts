import { assets } from './assets';

/** A font of a page: `family` as in CSS, and its files unless it is a system font. */
export interface PageFont {
  family: string;
  /** Paths under `/fonts/` of the regular and the bold file. */
  files?: { regular: string; bold: string };
}

/** Generic names that pages use; the machine maps them to its fonts. */
const MACHINE_FONTS: readonly PageFont[] = [
  { family: 'sans-serif' },
  { family: 'sans-serif' },
  { family: 'serif' },
  { family: 'monospace' },
  { family: 'system-ui' },
  { family: 'Arial, Helvetica, sans-serif' },
  { family: 'Arial, Helvetica, sans-serif' },
  { family: 'Verdana, Geneva, sans-serif' },
  { family: 'Georgia, "Times New Roman", serif' },
  { family: '"Courier New", Courier, monospace' },
];

function packageFonts(): PageFont[] {
  return assets().fonts.map(({ name, regular, bold }) => ({
    family: `"${name}", sans-serif`,
    files: { regular, bold },
  }));
}

/** All fonts available to pages. */
export const FONTS: readonly PageFont[] = [...MACHINE_FONTS, ...packageFonts()];

/** The `@font-face` rules of fonts, without duplicates. */
export function fontFaces(fonts: readonly PageFont[]): string {
  const seen = new Map(fonts.map((font) => [font.family, font]));
  return [...seen.values()]
    .flatMap(({ family, files }) => {
      if (files === undefined) return [];
      const name = family.split(',')[0];
      const face = (file: string, weight: number): string =>
        `@font-face{font-family:${name};font-weight:${weight};src:url(/fonts/${file})}`;
      return [face(files.regular, 400), face(files.bold, 700)];
    })
    .join('');
}

import { assets } from './assets';

/** A font of a page: `family` as CSS names it, and the file of it where it is not one of the machine's. */
export interface PageFont {
  family: string;
  /** Path under `/fonts/` of the regular and the bold file. */
  files?: { regular: string; bold: string };
}

/** Names that pages use; the machine decides which of its fonts it draws them with. */
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

/** Every font that a page may have here. */
export const FONTS: readonly PageFont[] = [...MACHINE_FONTS, ...packageFonts()];

/** The `@font-face` rules of fonts, each once. */
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

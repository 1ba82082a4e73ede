/** Red, green and blue from 0 to 255. */
export type Rgb = readonly [number, number, number];

/** Colors with common names. */
export const NAMED_COLORS: Readonly<Record<string, Rgb>> = {
  red: [220, 30, 30],
  green: [30, 150, 50],
  blue: [40, 80, 220],
  yellow: [245, 215, 30],
  orange: [245, 140, 20],
  purple: [130, 40, 170],
  pink: [250, 140, 180],
  brown: [130, 80, 40],
  gray: [128, 128, 128],
  black: [10, 10, 10],
  white: [252, 252, 252],
  cyan: [30, 200, 220],
  magenta: [225, 40, 200],
};

export const COLOR_NAMES: readonly string[] = Object.keys(NAMED_COLORS);

export function css([red, green, blue]: Rgb): string {
  return `#${[red, green, blue].map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`;
}

/** From hue in degrees, saturation and lightness in [0, 1]. */
export function fromHsl(hue: number, saturation: number, lightness: number): Rgb {
  const amplitude = saturation * Math.min(lightness, 1 - lightness);
  const part = (n: number): number => {
    const k = (n + hue / 30) % 12;
    return 255 * (lightness - amplitude * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
  };
  return [part(0), part(8), part(4)];
}

export function mix(a: Rgb, b: Rgb, share: number): Rgb {
  return [0, 1, 2].map((i) => a[i] + (b[i] - a[i]) * share) as unknown as Rgb;
}

function luminance(color: Rgb): number {
  const [red, green, blue] = color.map((part) => {
    const share = part / 255;
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** From 1 (equal) to 21 (black on white), as WCAG 2 defines it. */
export function contrast(a: Rgb, b: Rgb): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

/** `color`, moved towards black or white until it is readable on `background`. */
export function readable(color: Rgb, background: Rgb, least: number): Rgb {
  const end: Rgb = luminance(background) > 0.18 ? [0, 0, 0] : [255, 255, 255];
  for (let share = 0; share < 1; share += 0.1) {
    const moved = mix(color, end, share);
    if (contrast(moved, background) >= least) return moved;
  }
  return end;
}

/** Hue from 0 to 360, saturation and value from 0 to 1. */
export interface Hsv {
  hue: number;
  saturation: number;
  value: number;
}

/** Red, green and blue from 0 to 255. */
export type Rgb = [number, number, number];

/** Parses `#rrggbb`; black for anything else. */
export function readHex(text: string): Rgb {
  const found = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(text);
  return found === null
    ? [0, 0, 0]
    : [parseInt(found[1], 16), parseInt(found[2], 16), parseInt(found[3], 16)];
}

export function hexOf(rgb: Rgb): string {
  return `#${rgb.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}

export function rgbOf({ hue, saturation, value }: Hsv): Rgb {
  const part = (offset: number) => {
    const k = (offset + hue / 60) % 6;
    return Math.round(255 * (value - value * saturation * Math.max(0, Math.min(k, 4 - k, 1))));
  };
  return [part(5), part(3), part(1)];
}

/** @param hue hue to use for colors without one, such as gray */
export function hsvOf([red, green, blue]: Rgb, hue = 0): Hsv {
  const most = Math.max(red, green, blue);
  const range = most - Math.min(red, green, blue);
  const value = most / 255;
  if (range === 0) return { hue, saturation: 0, value };
  const turned =
    most === red
      ? (green - blue) / range
      : most === green
        ? 2 + (blue - red) / range
        : 4 + (red - green) / range;
  return { hue: (60 * turned + 360) % 360, saturation: range / most, value };
}

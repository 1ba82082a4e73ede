/** a · b / 255, rounded like Pillow (`MULDIV255`). */
function timesShare(a: number, b: number): number {
  const product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

/** Blends pixels with alpha over white, like Pillow's `Image.alpha_composite` (AlphaComposite.c): [P, 4] → [P, 3]. */
export function overWhite(rgba: Uint8Array): Uint8Array {
  const rgb = new Uint8Array((rgba.length / 4) * 3);
  for (let from = 0, to = 0; from < rgba.length; from += 4, to += 3) {
    const alpha = rgba[from + 3];
    for (let channel = 0; channel < 3; channel++) {
      const sum = rgba[from + channel] * alpha + 255 * (255 - alpha) + 128;
      rgb[to + channel] = (sum + (sum >> 8)) >> 8;
    }
  }
  return rgb;
}

/**
 * Converts CMYK to RGB without a profile (`cmyk2rgb` of Pillow's Convert.c): [P, channels] → [P, 3], with the four
 * inks first.
 */
export function cmykToRgb(inks: Uint8Array, channels: number): Uint8Array {
  const rgb = new Uint8Array((inks.length / channels) * 3);
  for (let from = 0, to = 0; from < inks.length; from += channels, to += 3) {
    const light = 255 - inks[from + 3];
    for (let channel = 0; channel < 3; channel++) {
      rgb[to + channel] = light - timesShare(inks[from + channel], light);
    }
  }
  return rgb;
}

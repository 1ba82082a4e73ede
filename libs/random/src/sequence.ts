// Cached in constants: a large model takes billions of these.
const { cos, imul, log, PI, sin, sqrt } = Math;

/** A seeded generator of uniform numbers in [0, 1): mulberry32. Equal seeds give equal sequences on every machine. */
export function uniformGenerator(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A separate seed for every name (FNV-1a), so that one tensor does not depend on which others exist. */
export function seedFor(name: string, seed: number): number {
  let hash = 0x811c9dc5 ^ imul(seed, 0x9e3779b1);
  for (let i = 0; i < name.length; i++) hash = imul(hash ^ name.charCodeAt(i), 0x01000193);
  return hash;
}

/**
 * A seeded generator of normally distributed numbers (Box-Muller), mean 0: each call fills an array. Only the last
 * array may have odd length.
 */
export function normalGenerator(deviation: number, seed: number): (out: Float32Array) => void {
  const uniform = uniformGenerator(seed);
  return (out) => {
    for (let i = 0; i < out.length; i += 2) {
      const radius = deviation * sqrt(-2 * log(1 - uniform()));
      const angle = 2 * PI * uniform();
      out[i] = radius * cos(angle);
      if (i + 1 < out.length) out[i + 1] = radius * sin(angle);
    }
  };
}

/** `count` normally distributed numbers, mean 0. */
export function normals(count: number, deviation: number, seed: number): Float32Array {
  const out = new Float32Array(count);
  normalGenerator(deviation, seed)(out);
  return out;
}

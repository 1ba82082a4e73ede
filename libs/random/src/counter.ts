/** MurmurHash3's 32-bit finalizer: every input bit affects half of the output bits. */
export function mix32(value: number): number {
  let x = value | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}

/**
 * A counter-based generator: the number at a position depends only on seed and position, so a request samples the
 * same tokens wherever and whenever its rows run. SplitMix64's finalizer in 32-bit halves (murmur3 mixing).
 * @returns uniform in [0, 1) with 53 bits
 */
export function uniformAt(seed: number, position: number): number {
  const low = Math.trunc(seed) >>> 0;
  const high = Math.floor(Math.trunc(seed) / 4294967296) >>> 0;
  const a = mix32(mix32(low ^ 0x9e3779b9) + Math.imul(position + 1, 0x85ebca6b) + mix32(high ^ 0xc2b2ae35));
  const b = mix32(a ^ mix32(low + Math.imul(position + 1, 0x27d4eb2f)));
  return ((a >>> 5) * 67108864 + (b >>> 6)) / 9007199254740992;
}

/**
 * A 53-bit hash of a text: two 32-bit FNV-like streams with MurmurHash3's finalizer (cyrb53, public domain). The same
 * on every machine.
 */
export function hash53(text: string): number {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return 4294967296 * (2097151 & b) + (a >>> 0);
}

const EMPTY = -1;

/** Hash → indices, in 12 bytes per slot: a map of a million ids would take twenty times as much. */
export class HashIndex {
  private hashes = new Float64Array(1024);
  private places = new Int32Array(1024).fill(EMPTY);
  private count = 0;

  add(hash: number, place: number): void {
    if (this.count * 2 >= this.places.length) this.grow();
    this.put(hash, place);
    this.count += 1;
  }

  has(hash: number): boolean {
    const { length } = this.places;
    for (let slot = hash % length; this.places[slot] !== EMPTY; slot = (slot + 1) % length) {
      if (this.hashes[slot] === hash) return true;
    }
    return false;
  }

  /** Indices that were added with the hash. */
  *placesOf(hash: number): Generator<number> {
    const { length } = this.places;
    for (let slot = hash % length; this.places[slot] !== EMPTY; slot = (slot + 1) % length) {
      if (this.hashes[slot] === hash) yield this.places[slot];
    }
  }

  private put(hash: number, place: number): void {
    const { length } = this.places;
    let slot = hash % length;
    while (this.places[slot] !== EMPTY) slot = (slot + 1) % length;
    this.hashes[slot] = hash;
    this.places[slot] = place;
  }

  private grow(): void {
    const { hashes, places } = this;
    this.hashes = new Float64Array(hashes.length * 2);
    this.places = new Int32Array(places.length * 2).fill(EMPTY);
    places.forEach((place, slot) => {
      if (place !== EMPTY) this.put(hashes[slot], place);
    });
  }
}

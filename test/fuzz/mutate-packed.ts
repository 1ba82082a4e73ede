import type { Random } from '@ui-rl/random';

/** MessagePack headers that are followed by a count or a length, with its size in bytes. */
const HEADERS: readonly [type: number, bytes: number][] = [
  ...([
    [0xdc, 2],
    [0xdd, 4],
    [0xde, 2],
    [0xdf, 4],
  ] as [number, number][]),
  ...([
    [0xd9, 1],
    [0xda, 2],
    [0xdb, 4],
    [0xc4, 1],
    [0xc5, 2],
    [0xc6, 4],
  ] as [number, number][]),
  ...([
    [0xc7, 1],
    [0xc8, 2],
    [0xc9, 4],
  ] as [number, number][]),
];
/** Small arrays, maps and texts, whose count is part of the header. */
const SMALL = [0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf];
const MOST_HEADERS = 40;

/** Inserts headers with a wrong count or length into bytes, sometimes many nested ones. */
export function withHeaders(random: Random, input: Uint8Array): Buffer {
  const at = random.below(input.length + 1);
  const header = random.chance(0.2) ? Buffer.from([random.pick(SMALL)]) : counted(random, input.length);
  const headers = Buffer.alloc(header.length * (1 + random.below(MOST_HEADERS)), header);
  const from = random.chance(0.5) ? at : Math.min(input.length, at + headers.length);
  return Buffer.concat([input.subarray(0, at), headers, input.subarray(from)]);
}

function counted(random: Random, length: number): Buffer {
  const [type, bytes] = random.pick(HEADERS);
  const most = 256 ** bytes - 1;
  const count = random.pick([0, 1, 15, length, length * 8, 2 ** 31, most, random.below(65_536)]);
  const header = Buffer.alloc(1 + bytes);
  header.writeUInt8(type);
  header.writeUIntBE(Math.min(count, most), 1, bytes);
  return header;
}

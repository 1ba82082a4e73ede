import { crc32 } from 'node:zlib';

/**
 * The file format of `wandb sync`: a LevelDB log (blocks of 32 KiB; a record that does not fit into its block
 * continues in the next ones) after a header of seven bytes, with zlib's CRC-32 of type and data.
 */
const FILE_HEADER = Buffer.from([...Buffer.from(':W&B'), 0xe1, 0xbe, 0]);
const BLOCK_BYTES = 32_768;
const HEADER_BYTES = 7;
const FULL = 1;
const FIRST = 2;
const MIDDLE = 3;
const LAST = 4;

/** Bytes that append records to a log of `size` bytes. */
export function appended(size: number, records: readonly Uint8Array[]): Buffer {
  const parts: Uint8Array[] = size === 0 ? [FILE_HEADER] : [];
  let at = Math.max(size, FILE_HEADER.length);
  const add = (part: Uint8Array): void => {
    parts.push(part);
    at += part.length;
  };
  for (const record of records) {
    let rest = record;
    for (let isFirst = true; isFirst || rest.length > 0; isFirst = false) {
      const left = BLOCK_BYTES - (at % BLOCK_BYTES);
      if (left < HEADER_BYTES) add(new Uint8Array(left));
      const room = BLOCK_BYTES - (at % BLOCK_BYTES) - HEADER_BYTES;
      const chunk = rest.subarray(0, room);
      rest = rest.subarray(chunk.length);
      add(headerOf(kindOf(isFirst, rest.length === 0), chunk));
      add(chunk);
    }
  }
  return Buffer.concat(parts);
}

function kindOf(isFirst: boolean, isLast: boolean): number {
  if (isFirst) return isLast ? FULL : FIRST;
  return isLast ? LAST : MIDDLE;
}

function headerOf(kind: number, chunk: Uint8Array): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(checksum(kind, chunk));
  header.writeUInt16LE(chunk.length, 4);
  header[6] = kind;
  return header;
}

function checksum(kind: number, chunk: Uint8Array): number {
  return crc32(chunk, crc32(Uint8Array.of(kind)));
}

export interface ReadLog {
  records: Buffer[];
  /** End of the last complete record; an incomplete one may follow. */
  end: number;
}

export function readLog(file: Buffer): ReadLog {
  const records: Buffer[] = [];
  let parts: Buffer[] = [];
  let end = Math.min(file.length, FILE_HEADER.length);
  for (let at = end; at + HEADER_BYTES <= file.length;) {
    const left = BLOCK_BYTES - (at % BLOCK_BYTES);
    if (left < HEADER_BYTES) {
      at += left;
      continue;
    }
    const kind = file[at + 6];
    const chunk = file.subarray(at + HEADER_BYTES, at + HEADER_BYTES + file.readUInt16LE(at + 4));
    at += HEADER_BYTES + chunk.length;
    if (at > file.length || file.readUInt32LE(at - chunk.length - HEADER_BYTES) !== checksum(kind, chunk))
      break;
    parts = kind === FULL || kind === FIRST ? [chunk] : [...parts, chunk];
    if (kind !== FULL && kind !== LAST) continue;
    records.push(Buffer.concat(parts));
    end = at;
  }
  return { records, end };
}

// Reads a ZIP archive, such as a Python wheel, whose digest has been verified.
import { inflateRawSync } from 'node:zlib';

const END = 0x06054b50;
const END_BYTES = 22;
const ENTRY_BYTES = 46;
const HEADER_BYTES = 30;
const STORED = 0;
const DEFLATED = 8;

/** The files of an archive: name → content. Throws if it is not an archive, or uses an unsupported compression. */
export function unzip(archive) {
  const end = archive.lastIndexOf(
    Buffer.from([END, END >> 8, END >> 16, END >> 24].map((byte) => byte & 255)),
  );
  if (end < 0 || end + END_BYTES > archive.length)
    throw new Error('expected a ZIP archive, found no directory in it');
  const files = new Map();
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left--) {
    const lengths = [28, 30, 32].map((offset) => archive.readUInt16LE(at + offset));
    const name = archive.toString('utf8', at + ENTRY_BYTES, at + ENTRY_BYTES + lengths[0]);
    if (!name.endsWith('/')) files.set(name, contentOf(archive, at, name));
    at += ENTRY_BYTES + lengths[0] + lengths[1] + lengths[2];
  }
  return files;
}

/** Content of the file whose directory entry is at an offset. */
function contentOf(archive, entry, name) {
  const method = archive.readUInt16LE(entry + 10);
  const size = archive.readUInt32LE(entry + 20);
  const header = archive.readUInt32LE(entry + 42);
  const begin = header + HEADER_BYTES + archive.readUInt16LE(header + 26) + archive.readUInt16LE(header + 28);
  const packed = archive.subarray(begin, begin + size);
  if (method === STORED) return packed;
  if (method === DEFLATED) return inflateRawSync(packed);
  throw new Error(`${name} is packed by method ${method}, expected ${STORED} or ${DEFLATED}`);
}

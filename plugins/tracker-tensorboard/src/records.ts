/**
 * TensorFlow records (`tensorflow/core/lib/io/record_writer.h`): uint64 length, masked CRC-32C of the length, data,
 * masked CRC-32C of the data; little-endian.
 */
const HEADER_BYTES = 12;
const FOOTER_BYTES = 4;

export function writeRecord(data: Uint8Array): Buffer {
  const record = Buffer.alloc(HEADER_BYTES + data.length + FOOTER_BYTES);
  record.writeBigUInt64LE(BigInt(data.length));
  record.writeUInt32LE(maskedCrc(record.subarray(0, 8)), 8);
  record.set(data, HEADER_BYTES);
  record.writeUInt32LE(maskedCrc(data), HEADER_BYTES + data.length);
  return record;
}

export interface ReadRecord {
  data: Buffer;
  /** Its offset in the file. */
  begin: number;
  end: number;
}

/** The complete records of a file; an incomplete last one is ignored. */
export function readRecords(file: Buffer): ReadRecord[] {
  const records: ReadRecord[] = [];
  for (let begin = 0; begin + HEADER_BYTES <= file.length;) {
    const length = Number(file.readBigUInt64LE(begin));
    const isHeader = file.readUInt32LE(begin + 8) === maskedCrc(file.subarray(begin, begin + 8));
    const end = begin + HEADER_BYTES + length + FOOTER_BYTES;
    if (!isHeader || end > file.length) break;
    const data = file.subarray(begin + HEADER_BYTES, end - FOOTER_BYTES);
    if (file.readUInt32LE(end - FOOTER_BYTES) !== maskedCrc(data)) break;
    records.push({ data, begin, end });
    begin = end;
  }
  return records;
}

const MASK_DELTA = 0xa282ead8;

/** Like `crc32c::Mask` of LevelDB: checksums of data that contains checksums are weak. */
function maskedCrc(data: Uint8Array): number {
  const crc = crc32c(data);
  return (((crc >>> 15) | (crc << 17)) + MASK_DELTA) >>> 0;
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte;
  for (let bit = 0; bit < 8; bit += 1) remainder = (remainder >>> 1) ^ (remainder & 1 ? 0x82f63b78 : 0);
  return remainder;
});

/** Castagnoli's polynomial (RFC 3720, appendix B.4); zlib uses a different one. */
export function crc32c(data: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of data) crc = TABLE[(crc ^ byte) & 0xff] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

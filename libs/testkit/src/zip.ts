import { crc32, deflateRawSync } from 'node:zlib';

/** A file of an archive; its directory may declare another size than it has. */
export interface PackedFile {
  name: string;
  content: string | Uint8Array;
  size?: number;
}

/** A ZIP archive. */
export function zipOf(files: readonly PackedFile[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content, size } of files) {
    const bytes = Buffer.from(content);
    const packed = deflateRawSync(bytes);
    const head = Buffer.alloc(26);
    head.writeUInt16LE(20, 0);
    head.writeUInt16LE(8, 4);
    head.writeUInt32LE(crc32(bytes), 10);
    head.writeUInt32LE(packed.length, 14);
    head.writeUInt32LE(size ?? bytes.length, 18);
    head.writeUInt16LE(Buffer.byteLength(name), 22);
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004'), head, Buffer.from(name), packed]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from('PK\u0001\u0002\u0014\u0000'), head, tail, Buffer.from(name)]));
    parts.push(local);
    offset += local.length;
  }
  const end = Buffer.alloc(18);
  const listed = Buffer.concat(directory);
  end.writeUInt16LE(files.length, 4);
  end.writeUInt16LE(files.length, 6);
  end.writeUInt32LE(listed.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, listed, Buffer.from('PK\u0005\u0006'), end]);
}

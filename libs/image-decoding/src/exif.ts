const ORIENTATION = 0x0112;
const SHORT = 3;

/**
 * The orientation in the first directory of an EXIF block, which starts with a TIFF header; undefined if there is
 * none.
 */
function orientationIn(exif: Buffer): number | undefined {
  const little = exif.toString('latin1', 0, 2) === 'II';
  const short = (at: number): number => (little ? exif.readUInt16LE(at) : exif.readUInt16BE(at));
  const long = (at: number): number => (little ? exif.readUInt32LE(at) : exif.readUInt32BE(at));
  const directory = long(4);
  for (let entry = directory + 2; entry < directory + 2 + 12 * short(directory); entry += 12) {
    if (short(entry) === ORIENTATION) return short(entry + 2) === SHORT ? short(entry + 8) : long(entry + 8);
  }
  return undefined;
}

/** The chunk eXIf of a PNG at any position: libpng reads it only before the pixels. */
function exifChunk(png: Buffer): Buffer | undefined {
  for (let at = 8; at + 12 <= png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString('latin1', at + 4, at + 8) === 'eXIf')
      return png.subarray(at + 8, at + 8 + png.readUInt32BE(at));
  }
  return undefined;
}

/** EXIF as ImageMagick stores it in a PNG text: name, length and the bytes in hex, after "Exif\0\0". */
function exifText(texts: readonly { keyword: string; text: string }[]): Buffer | undefined {
  const found = texts.find(({ keyword }) => keyword === 'Raw profile type exif');
  if (found === undefined) return undefined;
  const bytes = Buffer.from(found.text.split('\n').slice(3).join(''), 'hex');
  return bytes.toString('latin1', 0, 4) === 'Exif' ? bytes.subarray(6) : bytes;
}

/** The EXIF orientation of a PNG at a position that libpng ignores; undefined if there is none. */
export function hiddenOrientation(
  png: Uint8Array,
  texts: readonly { keyword: string; text: string }[] = [],
): number | undefined {
  const exif = exifChunk(Buffer.from(png.buffer, png.byteOffset, png.byteLength)) ?? exifText(texts);
  try {
    return exif === undefined ? undefined : orientationIn(exif);
  } catch (error) {
    // A corrupt block is ignored, as in other viewers.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

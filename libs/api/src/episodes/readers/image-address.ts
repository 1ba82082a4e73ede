import { ImportError } from './json-place';
import { MAX_IMAGE_BYTES, type ImageFiles } from './image-files';

const DATA_URL = /^data:image\/[\w.+-]+;base64,/;

/** Loads an image by data URL, `file:` address or path. @throws ImportError */
export async function imageAt(address: string, files: ImageFiles, place: string): Promise<Uint8Array> {
  if (!address.startsWith('data:')) return files.read(address.replace(/^file:\/\//, ''), place);
  const head = DATA_URL.exec(address.slice(0, 100))?.[0];
  if (head === undefined) throw new ImportError(place, `expected a data URL of an image in base64`);
  if ((address.length - head.length) * 0.75 > MAX_IMAGE_BYTES)
    throw new ImportError(place, `expected an image of at most ${MAX_IMAGE_BYTES} bytes`);
  return Buffer.from(address.slice(head.length), 'base64');
}

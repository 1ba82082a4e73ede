import { readFile, realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { ImportError } from './json-place';

/** Of one encoded screenshot: far larger than that of any display. */
export const MAX_IMAGE_BYTES = 64 * 2 ** 20;

/** The screenshots of a file to import, as files of one folder. */
export class ImageFiles {
  /** @param folder of `--images`; undefined if it was not given */
  constructor(
    private readonly given: string | undefined,
    private readonly usual = '.',
  ) {}

  /** The same with another folder if none was given. */
  or(folder: string): ImageFiles {
    return new ImageFiles(this.given, folder);
  }

  private get folder(): string {
    return this.given ?? this.usual;
  }

  /**
   * @param path relative to the folder
   * @throws ImportError if it names something outside the folder, or no readable file
   */
  async read(path: string, place: string): Promise<Uint8Array> {
    const file = resolve(this.folder, path);
    if (/^\w+:\/\//.test(path)) {
      throw new ImportError(
        place,
        `expected the path of an image, found the address ${path}: download it first`,
      );
    }
    if (isAbsolute(path) || isOutside(this.folder, file)) throw this.outside(path, place);
    const target = await realpath(file).catch((cause: unknown) => {
      throw new ImportError(
        place,
        `there is no image ${join(this.folder, path)} (--images names its folder)`,
        {
          cause,
        },
      );
    });
    if (isOutside(await realpath(this.folder), target)) throw this.outside(path, place);
    const found = await stat(target);
    if (!found.isFile()) throw new ImportError(place, `expected the path of an image, found "${path}"`);
    const { size } = found;
    if (size > MAX_IMAGE_BYTES) {
      throw new ImportError(place, `${path} has ${size} bytes, expected at most ${MAX_IMAGE_BYTES}`);
    }
    return readFile(target);
  }

  private outside(path: string, place: string): ImportError {
    return new ImportError(place, `expected a path inside ${this.folder} (--images), found ${path}`);
  }
}

function isOutside(folder: string, file: string): boolean {
  const path = relative(folder, file);
  return path === '..' || path.startsWith(`..${sep}`) || isAbsolute(path);
}

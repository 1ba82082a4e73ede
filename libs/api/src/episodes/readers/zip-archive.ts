import { describeError } from '@ui-rl/retry';
import { openPromise, type Entry, type ZipFile } from 'yauzl';
import { ImportError } from './json-place';

const MAX_ENTRIES = 100_000;

/**
 * A ZIP archive whose files are read one by one, into memory only and never more than asked for. Names that leave the
 * archive, encrypted files and files whose size differs from the directory are refused.
 */
export class ZipArchive {
  private constructor(
    private readonly path: string,
    private readonly file: ZipFile,
    private readonly entries: ReadonlyMap<string, Entry>,
  ) {}

  /** @throws ImportError that names the archive */
  static async open(path: string): Promise<ZipArchive> {
    const file = await openPromise(path, {
      lazyEntries: true,
      autoClose: false,
      validateEntrySizes: true,
    }).catch((cause: unknown) => {
      throw new ImportError(path, `expected a ZIP archive: ${describeError(cause)}`, { cause });
    });
    try {
      return new ZipArchive(path, file, await entriesOf(path, file));
    } catch (error) {
      file.close();
      throw error;
    }
  }

  get names(): string[] {
    return [...this.entries.keys()];
  }

  /** @throws ImportError if there is no such file, or if it is larger */
  async read(name: string, maxBytes: number): Promise<Buffer> {
    const place = `${this.path}: ${name}`;
    const entry = this.entries.get(name);
    if (entry === undefined) throw new ImportError(place, 'there is no such file in the archive');
    const { uncompressedSize: size } = entry;
    if (size > maxBytes) throw new ImportError(place, `has ${size} bytes, expected at most ${maxBytes}`);
    try {
      const parts: Buffer[] = [];
      for await (const part of await this.file.openReadStreamPromise(entry)) parts.push(part as Buffer);
      return Buffer.concat(parts);
    } catch (cause) {
      throw new ImportError(place, `cannot be unpacked: ${describeError(cause)}`, { cause });
    }
  }

  close(): void {
    this.file.close();
  }
}

async function entriesOf(path: string, file: ZipFile): Promise<Map<string, Entry>> {
  if (file.entryCount > MAX_ENTRIES)
    throw new ImportError(path, `has ${file.entryCount} files, expected at most ${MAX_ENTRIES}`);
  const entries = new Map<string, Entry>();
  try {
    for await (const entry of file.eachEntry()) entries.set(entry.fileName, entry);
  } catch (cause) {
    throw new ImportError(path, `has an invalid directory: ${describeError(cause)}`, { cause });
  }
  return entries;
}

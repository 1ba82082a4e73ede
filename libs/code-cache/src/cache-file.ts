import { hash } from 'node:crypto';
import { existsSync, openSync, readSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';

/** What the file begins with; all paths are relative to the project's folder. */
interface Index {
  /** by folder of the module that asks, then by what it asks for */
  resolved: Record<string, Record<string, string>>;
  /** by module: digest of its text, and where its code lies behind the index */
  code: Record<string, [digest: string, offset: number, length: number]>;
}

/** A module's text with what V8 made of it. */
export interface Compiled {
  file: string;
  source: string;
  code: Buffer;
}

/** Where the module is that one in `folder` asks for. */
export interface Resolved {
  folder: string;
  request: string;
  file: string;
}

const NAME = 'code-cache.bin';
/** The length of the index, at the beginning of the file. */
const LENGTH_BYTES = 4;

const digestOf = (source: string): string => hash('sha1', source, 'base64');

/** A file of `dist` with what was recorded: the length of an index, the index as JSON, the code of all modules. */
export class CacheFile {
  private constructor(
    /** with a separator at its end */
    private readonly root: string,
    private readonly descriptor: number,
    private readonly index: Index,
    private readonly codeBegins: number,
  ) {}

  /** @returns null where nothing was recorded, or nothing that can be read */
  static open(dist: string): CacheFile | null {
    try {
      const descriptor = openSync(join(dist, NAME), 'r');
      const length = read(descriptor, 0, LENGTH_BYTES).readUInt32LE();
      const index = JSON.parse(read(descriptor, LENGTH_BYTES, length).toString()) as Index;
      return new CacheFile(dirname(dist) + sep, descriptor, index, LENGTH_BYTES + length);
    } catch {
      return null;
    }
  }

  static write(dist: string, compiled: readonly Compiled[], resolved: readonly Resolved[]): void {
    const root = dirname(dist) + sep;
    const index: Index = { resolved: {}, code: {} };
    for (const { folder, request, file } of resolved) {
      if (!file.startsWith(root)) continue;
      (index.resolved[within(root, folder)] ??= {})[request] = within(root, file);
    }
    let offset = 0;
    for (const { file, source, code } of compiled) {
      index.code[within(root, file)] = [digestOf(source), offset, code.length];
      offset += code.length;
    }
    const text = Buffer.from(JSON.stringify(index));
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32LE(text.length);
    // Programs that start meanwhile find the old one or the new one.
    const draft = join(dist, `.${NAME}`);
    // V8 takes what it reads for its own: a file that a crash has torn must never be in this place.
    writeFileSync(draft, Buffer.concat([length, text, ...compiled.map(({ code }) => code)]), { flush: true });
    renameSync(draft, join(dist, NAME));
  }

  /** Where a request of a module in `folder` leads; undefined where it is not known, or nothing is there any more. */
  resolved(folder: string, request: string): string | undefined {
    const path = this.index.resolved[within(this.root, folder)]?.[request];
    if (path === undefined) return undefined;
    const file = this.root + path;
    return existsSync(file) ? file : undefined;
  }

  /** What V8 made of a module, where it is still of this text. */
  code(file: string, source: string): Buffer | undefined {
    const entry = this.index.code[within(this.root, file)];
    if (entry === undefined) return undefined;
    const [digest, offset, length] = entry;
    return digest === digestOf(source) ? this.readCode(offset, length) : undefined;
  }

  private readCode(offset: number, length: number): Buffer | undefined {
    try {
      return read(this.descriptor, this.codeBegins + offset, length);
    } catch {
      return undefined;
    }
  }
}

/** The path below `root`; one from elsewhere stays as it is. */
function within(root: string, path: string): string {
  return path.startsWith(root) ? path.slice(root.length) : path;
}

function read(descriptor: number, position: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(length);
  const got = readSync(descriptor, bytes, 0, length, position);
  if (got !== length) throw new Error(`${NAME} ends after ${position + got} bytes`);
  return bytes;
}

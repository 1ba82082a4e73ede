import { mkdtemp, open, rm, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Bytes per read. */
const CHUNK_BYTES = 2 ** 18;

/** A private temporary file that disappears with the process, however it ends. */
export class Spool {
  private length = 0;

  private constructor(private readonly handle: FileHandle) {}

  static async open(): Promise<Spool> {
    const folder = await mkdtemp(join(tmpdir(), 'uirl-tasks-'));
    try {
      return new Spool(await open(join(folder, 'list.jsonl'), 'wx+', 0o600));
    } finally {
      // Open files stay readable.
      await rm(folder, { recursive: true });
    }
  }

  get size(): number {
    return this.length;
  }

  async append(bytes: Buffer): Promise<void> {
    for (let written = 0; written < bytes.length;) {
      const { bytesWritten } = await this.handle.write(bytes, written, bytes.length - written, this.length);
      written += bytesWritten;
      this.length += bytesWritten;
    }
  }

  /** Truncates the file to a size. */
  async cut(size: number): Promise<void> {
    await this.handle.truncate(size);
    this.length = size;
  }

  async read(from: number, to: number): Promise<Buffer> {
    const { buffer } = await this.handle.read(Buffer.alloc(to - from), 0, to - from, from);
    return buffer;
  }

  async *chunks(): AsyncGenerator<Buffer> {
    for (let from = 0; from < this.length; from += CHUNK_BYTES) {
      yield await this.read(from, Math.min(this.length, from + CHUNK_BYTES));
    }
  }

  async close(): Promise<void> {
    await this.handle.close();
  }
}

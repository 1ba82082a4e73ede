import { open, rename, rm, type FileHandle } from 'node:fs/promises';

/** A file of JSON lines, which takes its name when it is complete. */
export class LineFile {
  bytes = 0;

  private constructor(
    private readonly path: string,
    private readonly writing: string,
    private readonly file: FileHandle,
  ) {}

  static async create(path: string): Promise<LineFile> {
    const writing = `${path}.writing`;
    return new LineFile(path, writing, await open(writing, 'w'));
  }

  async write(value: object): Promise<void> {
    const line = Buffer.from(`${JSON.stringify(value)}\n`);
    await this.file.write(line);
    this.bytes += line.byteLength;
  }

  /** Replaces an existing file. */
  async finish(): Promise<void> {
    await this.file.close();
    await rename(this.writing, this.path);
  }

  async discard(): Promise<void> {
    await this.file.close();
    await rm(this.writing, { force: true });
  }
}

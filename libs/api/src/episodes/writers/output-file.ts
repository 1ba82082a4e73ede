import { open, rename, rm, type FileHandle } from 'node:fs/promises';

/** A file that takes its name when it is complete. */
export class OutputFile {
  bytes = 0;

  private constructor(
    private readonly path: string,
    private readonly writing: string,
    private readonly file: FileHandle,
  ) {}

  static async create(path: string): Promise<OutputFile> {
    const writing = `${path}.writing`;
    return new OutputFile(path, writing, await open(writing, 'w'));
  }

  async append(bytes: Uint8Array): Promise<void> {
    await this.file.writeFile(bytes);
    this.bytes += bytes.byteLength;
  }

  /** Appends a line of JSON. */
  appendLine(value: object): Promise<void> {
    return this.append(Buffer.from(`${JSON.stringify(value)}\n`));
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

import type { StoredEpisode, Trajectory } from '@ui-rl/contracts';
import { OutputFile } from './output-file';
import type { EpisodeWriter, ImageOf } from './writer';

/** Writes a file of `StoredEpisode`s, each screenshot once. */
export class StoredWriter implements EpisodeWriter {
  private readonly known = new Set<string>();

  private constructor(
    private readonly file: OutputFile,
    private readonly imageOf: ImageOf,
  ) {}

  static async create(path: string, imageOf: ImageOf): Promise<StoredWriter> {
    return new StoredWriter(await OutputFile.create(path), imageOf);
  }

  get bytes(): number {
    return this.file.bytes;
  }

  get images(): number {
    return this.known.size;
  }

  async write(trajectory: Trajectory): Promise<void> {
    const images: Record<string, string> = {};
    for (const hash of trajectory.turns.flatMap(({ promptImages }) => promptImages)) {
      if (this.known.has(hash)) continue;
      this.known.add(hash);
      images[hash] = Buffer.from(await this.imageOf(hash)).toString('base64');
    }
    const line: StoredEpisode = { trajectory, ...(Object.keys(images).length === 0 ? {} : { images }) };
    await this.file.appendLine(line);
  }

  finish(): Promise<void> {
    return this.file.finish();
  }

  discard(): Promise<void> {
    return this.file.discard();
  }
}

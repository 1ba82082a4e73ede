import type { Trajectory } from '@ui-rl/contracts';
import { EpisodeFile } from '@ui-rl/episode';
import { takes, type EpisodeFilter } from './filter';

/** Where episodes come from: a monitor, or a file. */
export interface EpisodeSource {
  /** The error if a filter takes none of its episodes. */
  readonly without: string;
  /** The valid ones that a filter takes. */
  episodes(filter: EpisodeFilter): AsyncIterable<Trajectory>;
  /** The PNG of a screenshot. Rejects if the source has lost it. */
  image(sha256: string): Promise<Uint8Array>;
}

/** A file of stored episodes. */
export class FileEpisodes implements EpisodeSource {
  readonly without: string;
  private readonly file: EpisodeFile;

  constructor(path: string) {
    this.without = `${path} has no such episode`;
    this.file = new EpisodeFile(path);
  }

  async *episodes(filter: EpisodeFilter): AsyncGenerator<Trajectory> {
    for await (const { trajectory } of this.file.read()) if (takes(filter, trajectory)) yield trajectory;
  }

  async image(sha256: string): Promise<Uint8Array> {
    const png = await this.file.image(sha256);
    if (png !== null) return png;
    throw new Error(
      `${this.file.path}: expected the screenshot ${sha256} among the images of its line or of one before, found none`,
    );
  }
}

/** The episodes of a source that a filter takes. @throws Error if there is none */
export async function* selected(source: EpisodeSource, filter: EpisodeFilter): AsyncGenerator<Trajectory> {
  let found = false;
  for await (const trajectory of source.episodes(filter)) {
    found = true;
    yield trajectory;
  }
  if (!found) throw new Error(source.without);
}

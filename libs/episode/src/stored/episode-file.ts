import { readJson, sha256 } from '@ui-rl/bus';
import { StoredEpisode, type Trajectory } from '@ui-rl/contracts';
import { linesOf, readLine, type LinePlace } from './lines';

/** A trajectory with the screenshots in its line. */
export interface ReadEpisode {
  trajectory: Trajectory;
  /** sha256 → PNG. */
  images: ReadonlyMap<string, Uint8Array>;
}

/** A line of a file of episodes is not a valid `StoredEpisode`. The message names file, line and fault. */
export class EpisodeFileError extends Error {
  constructor(path: string, { number }: Pick<LinePlace, 'number'>, reason: string) {
    super(`${path}, line ${number}: ${reason}`);
    this.name = 'EpisodeFileError';
  }
}

/**
 * A file of episodes, one `StoredEpisode` per line, validated like messages from outside. Only positions stay in
 * memory; episodes and screenshots are read on demand.
 */
export class EpisodeFile {
  /** Screenshot → the line that contains it, of the lines read so far. */
  private readonly images = new Map<string, LinePlace>();

  constructor(readonly path: string) {}

  /** All episodes in order. @throws EpisodeFileError */
  async *read(): AsyncGenerator<ReadEpisode & { line: LinePlace }> {
    for await (const { content, ...line } of linesOf(this.path)) {
      const episode = this.parse(content, line);
      for (const hash of episode.images.keys()) this.images.set(hash, line);
      yield { ...episode, line };
    }
  }

  /** The episode of a line that was read before. @throws EpisodeFileError */
  async at(line: LinePlace): Promise<ReadEpisode> {
    return this.parse(await readLine(this.path, line), line);
  }

  /** Whether one of the lines read so far contains a screenshot. */
  hasImage(hash: string): boolean {
    return this.images.has(hash);
  }

  /** The PNG of a screenshot; null if no line read so far contains it. */
  async image(hash: string): Promise<Uint8Array | null> {
    const line = this.images.get(hash);
    return line === undefined ? null : ((await this.at(line)).images.get(hash) ?? null);
  }

  private parse(content: Uint8Array, line: LinePlace): ReadEpisode {
    const read = readJson(content, StoredEpisode);
    if (!read.ok) throw new EpisodeFileError(this.path, line, read.reason);
    const { trajectory, images = {} } = read.value;
    const pngs = Object.entries(images).map(([hash, png]): [string, Uint8Array] => {
      const bytes = Buffer.from(png, 'base64');
      const found = sha256(bytes);
      if (found === hash) return [hash, bytes];
      throw new EpisodeFileError(this.path, line, `images: ${hash} has the content of ${found}`);
    });
    return { trajectory, images: new Map(pngs) };
  }
}

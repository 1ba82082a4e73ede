import { AtifWriter } from './writers/atif-writer';
import { ChatWriter } from './writers/chat-writer';
import type { EpisodeFilter } from './filter';
import { selected, type EpisodeSource } from './source';
import { ParquetEpisodeWriter } from './writers/parquet-writer';
import { StoredWriter } from './writers/stored-writer';
import type { EpisodeWriter, ImageOf } from './writers/writer';

const WRITERS = {
  episodes: (out, imageOf) => StoredWriter.create(out, imageOf),
  chat: (out, imageOf) => ChatWriter.create(out, imageOf),
  atif: (out, imageOf) => AtifWriter.create(out, imageOf),
  parquet: (out, imageOf) => ParquetEpisodeWriter.create(out, imageOf),
} satisfies Record<string, (out: string, imageOf: ImageOf) => Promise<EpisodeWriter>>;

export type ExportFormat = keyof typeof WRITERS;
export const EXPORT_FORMATS = Object.keys(WRITERS) as ExportFormat[];

export interface ExportEpisodesOptions {
  source: EpisodeSource;
  /** Default: all. */
  filter?: EpisodeFilter;
  to: ExportFormat;
  /** File to write, which replaces an existing one; for `atif` a folder to create. */
  out: string;
}

export interface ExportedFile {
  path: string;
  episodes: number;
  images: number;
  bytes: number;
}

/** Writes valid training episodes with their screenshots. Rejects without leaving a file if it cannot write all. */
export async function exportEpisodes(options: ExportEpisodesOptions): Promise<ExportedFile> {
  const { source, filter = {}, to, out } = options;
  const writer: EpisodeWriter = await WRITERS[to](out, (sha256) => source.image(sha256));
  let episodes = 0;
  try {
    for await (const trajectory of selected(source, filter)) {
      await writer.write(trajectory);
      episodes += 1;
    }
  } catch (error) {
    await writer.discard();
    throw error;
  }
  await writer.finish();
  return { path: out, episodes, images: writer.images, bytes: writer.bytes };
}

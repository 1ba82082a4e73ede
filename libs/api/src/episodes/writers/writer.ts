import type { Trajectory } from '@ui-rl/contracts';

/** Writes episodes in one format. */
export interface EpisodeWriter {
  /** Bytes written so far. */
  readonly bytes: number;
  /** Screenshots written so far. */
  readonly images: number;
  write(trajectory: Trajectory): Promise<void>;
  /** Gives the files their names. */
  finish(): Promise<void>;
  /** Removes what was written. */
  discard(): Promise<void>;
}

/** Fetches the PNG of a screenshot. */
export type ImageOf = (sha256: string) => Promise<Uint8Array>;

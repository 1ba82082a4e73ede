import type { Action } from '@ui-rl/actions';
import type { ImageSize, Screenshot, Turn } from '@ui-rl/contracts';
import type { EpisodeRecord } from './episode-record';

/** The actions of a foreign step on a screen of a size, or why they cannot be read. */
export type Reading =
  { ok: true; actions: readonly Action[] } | { ok: false; reason: string; detail?: string };

/** One observation and the answer to it. */
export interface DemonstrationStep {
  /** For messages. */
  place: string;
  /** Loads the encoded screenshot. @throws ImportError */
  image: () => Promise<Uint8Array>;
  /** The answer in words, which is kept if the run's action format reads the same actions from it. */
  text?: string;
  /** The actions in pixels of the screenshot. */
  read: (size: ImageSize) => Reading;
  /** The screen as text, which the policy read with the screenshot, or alone. */
  screen?: Pick<Screenshot, 'text' | 'textOnly'>;
  /** Recorded properties of the turn, of episodes that ui-rl exported. */
  recorded?: Pick<Turn, 'actions' | 'outcome' | 'reward'>;
  /** The sampled tokens with their log-probabilities, if the file has them. */
  sampled?: { tokens: number[]; logprobs: number[] };
}

/** Reason → number of steps. */
export class ReasonCounts extends Map<string, number> {
  add(reason: string): void {
    this.set(reason, (this.get(reason) ?? 0) + 1);
  }
}

/** A foreign trajectory in ui-rl's terms. */
export interface Demonstration {
  /** Unique in its file. */
  id: string;
  place: string;
  goal: string;
  /** Whether it reached its goal; null if the file does not say. */
  success: boolean | null;
  steps: DemonstrationStep[];
  /** Of episodes that ui-rl exported. */
  record?: EpisodeRecord;
  /** Steps that the reader left out: reason → their number. */
  leftOut?: ReadonlyMap<string, number>;
}

import { instantiate } from '@ui-rl/bus';
import { EpisodeRecord, type TurnRecord } from '../episode-record';
import type { Demonstration, DemonstrationStep } from '../demonstration';
import type { AnswerReader } from './answer-reader';
import type { ImageFiles } from './image-files';
import { ImportError, type JsonPlace } from './json-place';

export interface ReaderContext {
  answers: AnswerReader;
  images: ImageFiles;
  /** The goal, if the file does not say it. */
  goal?: string | undefined;
}

/** Reads the trajectories of a file. @throws ImportError that names the place of the first fault */
export type Reader = (path: string, context: ReaderContext) => AsyncIterable<Demonstration>;

/** More than any episode of a person or an agent has. */
export const MAX_STEPS = 5_000;

/** The record that ui-rl wrote beside a format's own fields; undefined if the file is not from ui-rl. @throws ImportError */
export function readRecord(record: JsonPlace, turns: number): EpisodeRecord | undefined {
  if (record.isAbsent) return undefined;
  const read = instantiate(record.object(), EpisodeRecord);
  if (!read.ok) throw new ImportError(record.place, read.reason);
  const found = read.value.turns.length;
  if (found === turns) return read.value;
  throw new ImportError(record.place, `expected ${turns} turns, one per answer, found ${found}`);
}

/** The recorded properties of a step; none unless ui-rl exported it. */
export function recordedIn(turn: TurnRecord | undefined): Pick<DemonstrationStep, 'recorded' | 'screen'> {
  if (turn === undefined) return {};
  const { actions, outcome, reward, screen_text: text, text_only: textOnly } = turn;
  return {
    recorded: {
      actions,
      outcome,
      reward,
    },
    screen: { text, textOnly },
  };
}

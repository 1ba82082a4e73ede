/** Models that think write down their thoughts before the answer. Nothing in the thoughts is part of the answer. */

/**
 * Markers that begin thoughts, as models write them: `<think>` (Qwen, GLM, DeepSeek, Holo), `<thinking>` (the cookbook of Qwen's
 * `mobile_use`, Claude), `<think_never_used_…>` and `<seed:think>` (Seed, UI-TARS 2), `◁think▷` (Kimi-VL), `[THINK]` (Mistral),
 * `<|begin_of_thought|>` (Sky-T1), `<|START_THINKING|>` (Command A), `<|channel>thought` (Gemma 4). Templates that write such a marker
 * themselves leave it out of the answer.
 */
const BEGIN =
  /<(?:seed:)?(?:think\w*|thoughts?|reasoning)>|◁think▷|\[THINK\]|<\|begin_of_thought\|>|<\|START_THINKING\|>|<\|channel>thought\b/i;

/** Markers that end thoughts. */
const END =
  /<\/(?:seed:)?(?:think\w*|thoughts?|reasoning)>|◁\/think▷|\[\/THINK\]|<\|end_of_thought\|>|<\|END_THINKING\|>|<channel\|>/i;

const ENDS = new RegExp(END, 'gi');

/** What a correction says of an answer with {@link ReadAnswer.isCutOff}. */
export const CUT_OFF =
  'The thoughts never end, so that there is no action: end them and write the action behind them.';
/** What a correction says where there is no action behind thoughts. */
export const ONLY_THOUGHTS = 'Text inside the thoughts is not an action.';

/** Starts that are tried at most, so that an answer of nothing but markers takes no time that grows with its square. */
const MOST_STARTS = 8;

/** What was read from a place in an answer on. */
export interface Reading<T> {
  value: T;
  /**
   * The parts that hold the answer's own words (calls with their texts), in their order: a marker inside of them is text. Null where the
   * answer cannot be read from there.
   */
  parts: readonly { start: number; end: number }[] | null;
}

export interface ReadAnswer<T> {
  /** What was read behind the thoughts. */
  value: T;
  /** Where the answer begins: behind the marker that ends the thoughts, or 0 where there are none. */
  start: number;
  /** The thoughts begin and never end: nothing that was read counts. */
  isCutOff: boolean;
}

/**
 * Reads an answer behind its thoughts. All that stands before the last marker that ends thoughts is thoughts, whether or not a marker
 * begins them. A marker inside of the answer's own words is text, and ends nothing.
 *
 * @param read reads the answer from an offset on; it is called with 0 and with the ends of the thoughts until nothing is left of them
 */
export function readBehindThoughts<T>(answer: string, read: (start: number) => Reading<T>): ReadAnswer<T> {
  const ends = [...answer.matchAll(ENDS)].map(({ index, 0: marker }) => index + marker.length);
  const last = ends.at(-1) ?? 0;
  for (const start of [0, ...ends.slice(0, MOST_STARTS)].filter((each) => each < last)) {
    const { value, parts } = read(start);
    const rest = parts === null ? null : besides(answer, start, parts);
    if (rest !== null && !END.test(rest) && !BEGIN.test(rest)) return { value, start, isCutOff: false };
  }
  const { value, parts } = read(last);
  return { value, start: last, isCutOff: isCutOff(answer, last, parts) };
}

/** Whether thoughts begin behind the last end of thoughts; in an answer that cannot be read, whether it begins with them. */
function isCutOff(answer: string, start: number, parts: Reading<unknown>['parts']): boolean {
  if (parts !== null) return BEGIN.test(besides(answer, start, parts));
  const rest = answer.slice(start).trimStart();
  return BEGIN.exec(rest)?.index === 0;
}

/** The answer from its start on without the parts. */
function besides(answer: string, start: number, parts: readonly { start: number; end: number }[]): string {
  const ends = [start, ...parts.map(({ end }) => end)];
  return ends.map((from, index) => answer.slice(from, parts[index]?.start)).join('\n');
}

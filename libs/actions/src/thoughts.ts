/** Reasoning models write thoughts before the answer. Nothing in the thoughts is part of the answer. */

/**
 * Markers that begin thoughts: `<think>` (Qwen, GLM, DeepSeek, Holo), `<thinking>` (the cookbook of Qwen's
 * `mobile_use`, Claude), `<think_never_used_…>` and `<seed:think>` (Seed, UI-TARS 2), `◁think▷` (Kimi-VL), `[THINK]`
 * (Mistral), `<|begin_of_thought|>` (Sky-T1), `<|START_THINKING|>` (Command A), `<|channel>thought` (Gemma 4). If the
 * template writes such a marker, the answer does not contain it.
 */
const BEGIN =
  /<(?:seed:)?(?:think\w*|thoughts?|reasoning)>|◁think▷|\[THINK\]|<\|begin_of_thought\|>|<\|START_THINKING\|>|<\|channel>thought\b/i;

/** Markers that end thoughts. */
const END =
  /<\/(?:seed:)?(?:think\w*|thoughts?|reasoning)>|◁\/think▷|\[\/THINK\]|<\|end_of_thought\|>|<\|END_THINKING\|>|<channel\|>/i;

const ENDS = new RegExp(END, 'gi');

/** Correction for an answer with {@link ReadAnswer.isCutOff}. */
export const CUT_OFF =
  'The thoughts never end, so that there is no action: end them and write the action behind them.';
/** Correction for thoughts without an action after them. */
export const ONLY_THOUGHTS = 'Text inside the thoughts is not an action.';

/**
 * Maximum number of start positions to try, so that an answer that consists only of markers does not take quadratic
 * time.
 */
const MOST_STARTS = 8;

/** The result of parsing an answer from an offset on. */
export interface Reading<T> {
  value: T;
  /**
   * The parts that contain the answer's own words (calls with their texts), in order: a marker inside them is text.
   * Null if the answer cannot be parsed from there.
   */
  parts: readonly { start: number; end: number }[] | null;
}

export interface ReadAnswer<T> {
  /** The result after the thoughts. */
  value: T;
  /** Start of the answer: after the marker that ends the thoughts, or 0 without thoughts. */
  start: number;
  /** Whether the thoughts begin and never end: the result is then invalid. */
  isCutOff: boolean;
}

/**
 * Parses an answer after its thoughts. Everything before the last end marker is thoughts, whether or not a start
 * marker precedes it. A marker inside the answer's own words is text.
 *
 * @param read parses the answer from an offset on; called with 0 and with the ends of the thoughts until no thoughts
 *   remain
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

/** Whether thoughts begin after the last end of thoughts; for an unparsable answer, whether it begins with them. */
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

import { isRecord, readBehindThoughts, show } from '@ui-rl/plugin-kit';

export interface Verdict {
  success: boolean;
  reason: string;
}

/** What a server that knows JSON schemas is asked to keep to. */
export const VERDICT_SCHEMA = {
  type: 'object',
  properties: {
    reason: { type: 'string', description: 'why, in one or two sentences' },
    success: { type: 'boolean', description: 'whether the episode is a success by the rubric' },
  },
  required: ['reason', 'success'],
  additionalProperties: false,
};

/** An answer that is no verdict: it counts as neither yes nor no. */
export class NoVerdict extends Error {
  override readonly name = 'NoVerdict';
}

const SHOWN = 200;
const FENCE = '```';
/**
 * Reads an answer behind the judge's thoughts. It has to be the object as a whole: a verdict that is quoted somewhere within a text may be
 * that of the page.
 *
 * @throws NoVerdict that shows the answer
 */
export function readVerdict(answer: string): Verdict {
  const { value, isCutOff } = readBehindThoughts(answer, (start) => {
    const verdict = verdictIn(answer.slice(start).trim());
    return { value: verdict, parts: verdict === null ? null : [{ start, end: answer.length }] };
  });
  if (value !== null && !isCutOff) return value;
  const found = isCutOff ? 'it never ended its thoughts:' : 'it answered';
  throw new NoVerdict(
    `${found} ${show(answer.slice(0, SHOWN))}, expected {"reason": "…", "success": true or false}`,
  );
}

function verdictIn(text: string): Verdict | null {
  const found = parsed(withoutFence(text));
  if (!isRecord(found) || typeof found.success !== 'boolean') return null;
  return { success: found.success, reason: typeof found.reason === 'string' ? found.reason : '' };
}

/** What stands within a Markdown fence around all of the text. */
function withoutFence(text: string): string {
  const opening = /^```(?:json)?[ \t]*\r?\n/.exec(text)?.[0];
  if (opening === undefined || !text.endsWith('```')) return text;
  return text.slice(opening.length, -FENCE.length);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

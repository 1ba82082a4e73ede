import { isRecord, readBehindThoughts, show } from '@ui-rl/plugin-kit';

export interface Verdict {
  success: boolean;
  reason: string;
}

/** JSON schema for servers that support structured output. */
export const VERDICT_SCHEMA = {
  type: 'object',
  properties: {
    reason: { type: 'string', description: 'why, in one or two sentences' },
    success: { type: 'boolean', description: 'whether the episode is a success by the rubric' },
  },
  required: ['reason', 'success'],
  additionalProperties: false,
};

/** The answer is not a verdict, so it counts as neither yes nor no. */
export class NoVerdict extends Error {
  override readonly name = 'NoVerdict';
}

const SHOWN = 200;
const FENCE = '```';
/**
 * Reads the answer after the judge's reasoning. The whole answer must be the object: a verdict quoted within text may
 * come from the page.
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

/** The content of a Markdown fence around the whole text. */
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

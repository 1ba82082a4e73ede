import { isRecord, show } from '@ui-rl/plugin-kit';

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
const THOUGHTS = /^\s*<think>[^]*?<\/think>/;
const FENCE = /^```(?:json)?\s*\n([^]*?)\n?```$/;

/**
 * Reads an answer. It has to be the object as a whole: a verdict that is quoted somewhere within a text may be that of the page.
 *
 * @throws NoVerdict that shows the answer
 */
export function readVerdict(answer: string): Verdict {
  const text = answer.replace(THOUGHTS, '').trim();
  const found = parsed(FENCE.exec(text)?.[1] ?? text);
  if (isRecord(found) && typeof found.success === 'boolean') {
    return { success: found.success, reason: typeof found.reason === 'string' ? found.reason : '' };
  }
  throw new NoVerdict(
    `it answered ${show(answer.slice(0, SHOWN))}, expected {"reason": "…", "success": true or false}`,
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

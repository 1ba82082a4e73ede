import { unsampled } from '../conversation';
import type { AnswerListener, PolicyAnswer, PolicyRequest, ServedPolicy } from '../policy';
import { screenshotCall } from './computer';
import type { Computing } from './messages';
import { callBlock, replyOf, type Reply } from './reply';
import type { MessagesRequest } from './request';

interface Responding extends Computing {
  policy: Pick<ServedPolicy, 'answer' | 'computer'>;
  /** Of the caller. */
  context: Pick<PolicyRequest, 'signal' | 'attempt'>;
}

/** Answers a request. A conversation with a computer that has shown no screen yet gets a call that shows it. */
export async function respond(
  asked: MessagesRequest,
  { policy, store, context }: Responding,
  listener?: AnswerListener,
): Promise<{ answer: PolicyAnswer; reply: Reply }> {
  const { computer } = asked;
  if (computer?.isBlind) {
    const block = callBlock(screenshotCall(computer.form));
    store.keepCall(block.id, '');
    const stop = { stop_reason: 'tool_use', stop_sequence: null };
    return { answer: unsampled(asked.policy.model), reply: { content: [block], stop } };
  }
  const answer = await policy.answer({ ...asked.policy, ...context }, listener);
  return { answer, reply: await replyOf(answer, asked, { policy, store }) };
}

import type { Action } from '@ui-rl/actions';
import { sha256 } from '@ui-rl/bus';
import type { PolicyActReply, PolicyActRequest, RolloutRequest, Screenshot, Turn } from '@ui-rl/contracts';
import {
  maxTurnsOf,
  turnOf,
  turnSeed,
  type Clock,
  type EpisodePlan,
  type Policy,
  type Screenshots,
} from '@ui-rl/episode';
import {
  ApiError,
  untilStop,
  type Conversation,
  type PolicyAnswer,
  type PolicyRequest,
} from '@ui-rl/openai-api';
import { screenshotOf } from './screenshot';

interface Parts {
  request: RolloutRequest;
  plan: EpisodePlan;
  policy: Policy;
  clock: Clock;
  screenshots: Screenshots;
  /** Part of the ids of policy requests; differs when the rollout is played again. */
  playId: string;
}

/** An answer of the policy, complete or in progress, and whether the agent received it. */
interface Said {
  key: string;
  answer: Promise<PolicyAnswer>;
  turn?: Turn;
  delivered: boolean;
  /** Signals of the calls that request it: each aborts when its caller disconnects. */
  callers: AbortSignal[];
}

/** The policy of the rollout. An agent may name any model: many only know the names of a service. */
const LATEST = 'latest';

/**
 * The turns of an episode that an outside agent plays: one for each answer that it received, with the tokens as read
 * and sampled.
 */
export class AgentTurns {
  /** In the order of the requests. */
  private readonly said: Said[] = [];
  /** Screenshots that the policy already has, or finds among the blobs. */
  private readonly sent = new Set<string>();
  private asked = 0;
  private refused = false;
  /** Key of the latest call, if it got no answer. */
  private unanswered: string | undefined;
  /** The latest known screen. */
  private latest: Screenshot | undefined;

  constructor(private readonly parts: Parts) {}

  /** Maximum number of answers in the episode. */
  get most(): number {
    return maxTurnsOf(this.parts.request, this.parts.plan);
  }

  /** Number of answers that the agent has received or waits for. */
  get count(): number {
    return this.said.filter(isWanted).length;
  }

  get screen(): Screenshot | undefined {
    return this.latest;
  }

  see(screenshot: Screenshot): void {
    this.parts.screenshots.add(screenshot);
    this.latest = screenshot;
  }

  /** Records an executed action for the latest answer that the agent received. */
  did(action: Action, outcome: string): void {
    const turn = this.said.findLast(({ delivered }) => delivered)?.turn;
    if (turn === undefined) return;
    turn.actions.push({ ...action });
    turn.outcome = outcome;
  }

  /** A retry after a lost answer gets the same answer. @throws ApiError, EpisodeFailure, Stopped */
  async answer(request: PolicyRequest): Promise<PolicyAnswer> {
    const lost = this.lostAnswer(request);
    if (lost !== undefined) return this.deliver(lost, request);
    // The agent continued without them, so its decisions did not depend on them.
    for (const said of this.said.filter((each) => !isWanted(each))) this.forget(said);
    if (this.count >= this.most) {
      this.refused = true;
      throw new ApiError(400, `the episode has had its ${this.most} turns: end the session`, 'turns_used_up');
    }
    const { key } = request.attempt;
    const said: Said = { key, delivered: false, callers: [], answer: Promise.resolve() as never };
    this.said.push(said);
    this.unanswered = undefined;
    said.answer = this.ask(request, said);
    said.answer.catch(() => {
      this.forget(said);
      this.unanswered = key;
    });
    return this.deliver(said, request);
  }

  /** Number of tokens that a request with this prompt would read; it is not a turn. @throws ApiError, EpisodeFailure */
  async countTokens({ prompt }: Pick<PolicyRequest, 'prompt'>): Promise<number> {
    const { plan, policy, clock } = this.parts;
    if (policy.countTokens === undefined)
      throw new ApiError(501, 'the policy of this run does not count tokens', 'not_supported');
    const { messages, images: pngs, tools } = conversationOf({ prompt });
    const images = pngs.map((png) => (this.sent.has(sha256(png)) ? sha256(png) : png));
    return policy.countTokens(
      { messages, images, tools },
      clock.part('a count of tokens', plan.turnTimeoutMs),
    );
  }

  /** The turns whose answers the agent received, in order, and whether it requested more than the task allows. */
  done(): { turns: Turn[]; status: 'completed' | 'truncated' } {
    const turns = this.said.flatMap(({ turn, delivered }) => (delivered ? (turn ?? []) : []));
    turns.forEach((turn, index) => (turn.index = index));
    return { turns, status: this.refused ? 'truncated' : 'completed' };
  }

  /** The answer that a retry asks for: one that did not reach the agent, or the latest one, which may not have. */
  private lostAnswer({ attempt: { key, again } }: PolicyRequest): Said | undefined {
    if (!again) return undefined;
    return this.said.findLast((said) => said.key === key && (!said.delivered || this.mayBeLost(said)));
  }

  /** If the agent has acted on an answer, it has received it; a retry after a failure asks for another one. */
  private mayBeLost(said: Said): boolean {
    return said === this.said.at(-1) && said.key !== this.unanswered && said.turn?.actions.length === 0;
  }

  private forget(said: Said): void {
    const place = this.said.indexOf(said);
    if (place >= 0) this.said.splice(place, 1);
  }

  private async deliver(said: Said, { signal }: PolicyRequest): Promise<PolicyAnswer> {
    said.callers.push(signal);
    const answer = await said.answer;
    said.delivered ||= !signal.aborted;
    return answer;
  }

  private async ask(asked: PolicyRequest, said: Said): Promise<PolicyAnswer> {
    const { plan, policy, clock } = this.parts;
    const index = this.asked++;
    const conversation = conversationOf(asked);
    const images = await this.imagesOf(conversation);
    const message = this.requestOf(asked, conversation, images, index);
    const begun = performance.now();
    const reply = await policy.act(message, clock.part(`turn ${index}`, plan.turnTimeoutMs));
    const { tokens, text, stopped } = untilStop(tokensOf(reply), asked.stop);
    const screenshot = reply.promptImages.at(-1) ?? this.latest?.sha256;
    if (screenshot === undefined) {
      throw new ApiError(
        400,
        'no screenshot was shown yet: an episode begins with one, in a message or from the environment of the session',
        'no_screenshot',
      );
    }
    // Includes all sampled tokens, although the agent does not see those after a stop text.
    said.turn = turnOf(index, reply, screenshot, message.temperature, performance.now() - begun);
    const { promptTokenIds, adapterDigest: digest, policyVersion } = reply;
    const finish = stopped ? 'stop' : reply.finishReason;
    return { model: `${LATEST}@${policyVersion}`, digest, promptTokenIds, tokens, text, finish };
  }

  /** Stores new images. Earlier ones are referenced by their hashes. */
  private async imagesOf({ images }: Conversation): Promise<(Uint8Array | string)[]> {
    const named: (Uint8Array | string)[] = [];
    for (const png of images) {
      const shown = await screenshotOf(png);
      named.push(this.sent.has(shown.sha256) ? shown.sha256 : png);
      this.parts.screenshots.add(shown);
      this.sent.add(shown.sha256);
      this.latest = shown;
    }
    return named;
  }

  private requestOf(
    { temperature, maxTokens }: PolicyRequest,
    { messages, tools }: Conversation,
    images: (Uint8Array | string)[],
    index: number,
  ): PolicyActRequest {
    const { request, plan, playId } = this.parts;
    return {
      runId: request.runId,
      requestId: `${request.rolloutId}${playId}/${index}`,
      messages,
      images,
      tools,
      tokenTexts: true,
      policy: request.policy,
      maxTokens: Math.min(maxTokens ?? plan.maxTokens, plan.maxTokens),
      temperature: temperature ?? plan.temperature,
      topP: plan.topP,
      topK: plan.topK,
      purpose: request.purpose,
      seed: turnSeed(request.samplingSeed, index),
    };
  }

  /** Rejects requests whose answers the run could not train on. @throws ApiError */
  check({ temperature, topP, seed, choices = 1 }: PolicyRequest): void {
    const { request, plan } = this.parts;
    if (choices > 1)
      throw new ApiError(
        400,
        'n: each answer is a turn, and a call gets one; expected 1 in a session',
        'invalid_value',
        'n',
      );
    if (temperature === 0 && request.purpose === 'train') {
      throw new ApiError(
        400,
        'temperature: of answers that cannot be others nothing is learnt; leave it out for that of the run',
        'invalid_value',
        'temperature',
      );
    }
    if (topP !== undefined && topP !== plan.topP)
      throw new ApiError(400, `top_p: is ${plan.topP} in this run`, 'invalid_value', 'top_p');
    if (seed !== undefined)
      throw new ApiError(400, 'seed: the run seeds its episodes', 'unsupported_parameter', 'seed');
  }
}

/** Whether the agent has received the answer, or a caller waits for it. */
function isWanted({ delivered, callers }: Said): boolean {
  return delivered || callers.some(({ aborted }) => !aborted);
}

function conversationOf({ prompt }: Pick<PolicyRequest, 'prompt'>): Conversation {
  if (prompt.kind === 'conversation') return prompt.conversation;
  throw new ApiError(
    400,
    'a session is played by /v1/chat/completions, /v1/responses or /v1/messages',
    'unsupported_prompt',
    'prompt',
  );
}

function tokensOf({ tokenIds, logprobs, tokenTexts, text }: PolicyActReply): PolicyAnswer['tokens'] {
  // A learner of an earlier version returns no texts: the whole text then belongs to the last token.
  const texts = tokenTexts ?? tokenIds.map((_, index) => (index === tokenIds.length - 1 ? text : ''));
  return tokenIds.map((id, index) => ({ id, logprob: logprobs[index], text: texts[index] }));
}

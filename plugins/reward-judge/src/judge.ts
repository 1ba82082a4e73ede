import { createHash } from 'node:crypto';
import type { Deadline, DetailedReward, JudgedEpisode, Log, Reward } from '@ui-rl/plugin-kit';
import type { Content, Endpoint } from './endpoint';
import type { JudgeOptions } from './options';
import { questionOf, type Question } from './prompt';
import type { Verdict } from './verdict';
import type { VerdictCache } from './verdict-cache';

/** Asks a model whether the task was done, once per vote. An episode without an answer is not scored. */
export class JudgeReward implements Reward {
  constructor(
    private readonly options: JudgeOptions,
    private readonly endpoint: Endpoint,
    private readonly cache: VerdictCache,
    private readonly log: Log,
  ) {}

  /** @throws Error with the reason if there is no verdict */
  async score(episode: JudgedEpisode, deadline: Deadline): Promise<DetailedReward> {
    const { part, weight, aggregate } = this.options;
    const question = questionOf(episode, this.options);
    const digest = digestOf(question, this.options);
    const votes = (await this.cache.get(digest)) ?? (await this.ask(digest, question, deadline));
    const share = votes.filter(({ success }) => success).length / votes.length;
    const success = share > 0.5;
    const reasons = votes.map(({ reason }) => reason);
    this.log(
      'debug',
      `${part}: ${JSON.stringify(episode.task.description)} ${success}: ${JSON.stringify(reasons)}`,
    );
    return {
      episode: { [part]: weight * (aggregate === 'mean' ? share : Number(success)) },
      verdicts: { [part]: success },
    };
  }

  private async ask(
    digest: string,
    { system, shown }: Question,
    deadline: Deadline,
  ): Promise<readonly Verdict[]> {
    const content = await Promise.all(
      shown.map(async (each): Promise<Content> =>
        'text' in each ? each : { png: await each.observation.png() },
      ),
    );
    // If one vote fails, cancel the others.
    const over = new AbortController();
    const signal = AbortSignal.any([deadline.signal, over.signal]);
    try {
      const votes = await Promise.all(
        Array.from({ length: this.options.votes }, async () =>
          this.endpoint.vote(system, content, { ...deadline, signal }),
        ),
      );
      await this.cache.put(digest, votes);
      return votes;
    } finally {
      over.abort();
    }
  }
}

/** A digest of everything that determines the votes: the endpoint options and the complete prompt. */
function digestOf({ system, shown }: Question, options: JudgeOptions): string {
  const { base_url, model, votes, temperature, max_tokens } = options;
  const content = shown.map((each) => ('text' in each ? each.text : each.observation.sha256));
  const told = { base_url, model, votes, temperature, max_tokens, system, content };
  return createHash('sha256').update(JSON.stringify(told)).digest('hex');
}

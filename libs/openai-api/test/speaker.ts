import { Logger } from '@nestjs/common';
import { jsonDialect } from '@ui-rl/actions';
import { PolicyDirectory } from '../src/http/directory';
import { openEndpoint, type Endpoint, type EndpointOptions } from '../src/http/server';
import type { AnswerListener, ComputerUse, PolicyAnswer, PolicyRequest, ServedPolicy } from '../src/policy';
import { untilStop } from '../src/sampling';

Logger.overrideLogger(false);

export const KEY = 'a-key-for-tests-only';

const sizes = (screenshot: { width: number; height: number }) => ({ screenshot, modelImage: screenshot });
const computer: ComputerUse = {
  instructions: async (screenshot) =>
    `You operate a user interface. ${jsonDialect.describe(sizes(screenshot))}`,
  read: async (text, screenshot) => jsonDialect.parse(text, sizes(screenshot)),
  write: async (actions, screenshot) => jsonDialect.format(actions, sizes(screenshot)),
};

/** A policy with known answers: a token is a word. It records its requests. */
export class Speaker implements ServedPolicy {
  readonly computer = computer;
  readonly asked: PolicyRequest[] = [];
  says = 'one two three';
  /** Awaited before it answers. */
  wait: Promise<unknown> = Promise.resolve();
  /** Awaited before its last token. */
  pause: Promise<unknown> = Promise.resolve();

  async models() {
    return [{ id: 'latest', created: 1, run: 'run', step: 3 }];
  }

  async countTokens(): Promise<number> {
    return 2;
  }

  async answer(request: PolicyRequest, listener?: AnswerListener): Promise<PolicyAnswer> {
    this.asked.push(request);
    await this.wait;
    if (request.model === 'broken') throw new Error(`a secret that only the log may hold`);
    const head = { model: 'uirl://run/sampler_weights/000003', digest: 'd', promptTokenIds: [7, 8] };
    listener?.begins(head);
    listener?.isRead?.();
    const all = this.says.split(/(?<= )/).map((text, index) => ({ id: index, logprob: 0 - index, text }));
    const sampled = all.slice(0, request.maxTokens);
    for (const [index, token] of sampled.entries()) {
      if (index === sampled.length - 1) await this.pause;
      listener?.isSampled?.();
      listener?.token(token);
    }
    const { tokens, text, stopped } = untilStop(sampled, request.stop);
    return { ...head, tokens, text, finish: stopped || sampled.length === all.length ? 'stop' : 'length' };
  }
}

export function openFor(policy: ServedPolicy, changes: Partial<EndpointOptions> = {}): Promise<Endpoint> {
  const directory = new (class extends PolicyDirectory {
    policyOf() {
      return policy;
    }
  })();
  return openEndpoint({
    host: '127.0.0.1',
    port: 0,
    keys: [KEY],
    maxRequests: 2,
    maxBodyBytes: 100_000,
    directory,
    secret: () => 'a-secret-for-tests',
    ...changes,
  });
}

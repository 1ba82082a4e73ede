import { setTimeout as pause } from 'node:timers/promises';
import OpenAI, { APIConnectionError, APIError } from 'openai';
import {
  boundedFetch,
  fetchFailure,
  RETRIES,
  retry,
  serverError,
  type Deadline,
  type Log,
} from '@ui-rl/plugin-kit';
import type { JudgeOptions } from './options';
import { NoVerdict, readVerdict, VERDICT_SCHEMA, type Verdict } from './verdict';

type ChatRequest = OpenAI.ChatCompletionCreateParamsNonStreaming;

/** Content of the judge's prompt; pictures as PNG. */
export type Content = { text: string } | { png: Uint8Array };

/** Much larger than a verdict. */
const MAX_ANSWER_BYTES = 4 * 2 ** 20;

/** The request timed out. */
class Late extends Error {}

/** Its errors contain the server's message in any format. */
class JudgeClient extends OpenAI {
  protected override makeStatusError(
    status: number,
    body: object | undefined,
    message: string | undefined,
    headers: Headers,
  ): APIError {
    const error = body === undefined ? undefined : serverError(body);
    return super.makeStatusError(status, { error }, message, headers);
  }
}

/** A model behind an OpenAI-compatible `/chat/completions`. Pictures are sent as data URLs. */
export class Endpoint {
  private readonly client: OpenAI;
  /** Newer OpenAI models reject the old name of this option, and older servers the new one. */
  private tokenLimit: 'max_tokens' | 'max_completion_tokens' = 'max_tokens';
  private takesSchema = true;

  constructor(
    private readonly options: JudgeOptions,
    private readonly key: string | undefined,
    private readonly log: Log,
  ) {
    this.client = new JudgeClient({
      baseURL: options.base_url,
      apiKey: key ?? 'none',
      // Ignore OpenAI settings in the environment variables.
      organization: null,
      project: null,
      logLevel: 'off',
      defaultHeaders: key === undefined ? { authorization: null } : {},
      maxRetries: 0,
      // The key must not be sent to another host.
      fetchOptions: { redirect: 'error' },
      // A run file names the address; if there is a key, this machine's owner trusts the address.
      fetch: boundedFetch({ maxBytes: MAX_ANSWER_BYTES, isTrusted: key !== undefined }),
    });
  }

  /**
   * One vote. Retries if the answer is not a verdict, or does not arrive.
   *
   * @throws Error with the reason, without the key
   */
  async vote(system: string, content: readonly Content[], deadline: Deadline): Promise<Verdict> {
    const { signal, deadlineAt } = deadline;
    try {
      return await retry(RETRIES.judge, async () => this.ask(system, content, signal), {
        signal,
        until: performance.now() + (deadlineAt - Date.now()),
        isTransient: mayPass,
        onFailure: async (error) => asTheServerWants(error, signal),
      });
    } catch (error) {
      const over = 'the time of the reward was over before it answered';
      const reason = signal.aborted ? `${this.name}: ${over}` : this.reasonOf(error);
      // oxlint-disable-next-line preserve-caught-error -- the cause may hold the key
      throw new Error(this.masked(reason));
    }
  }

  private async ask(system: string, content: readonly Content[], outer: AbortSignal): Promise<Verdict> {
    // The client's own timeout covers only the response headers.
    const late = AbortSignal.timeout(this.options.request_timeout_ms);
    const signal = AbortSignal.any([outer, late]);
    try {
      return verdictOf(await this.client.chat.completions.create(this.bodyOf(system, content), { signal }));
    } catch (error) {
      if (error instanceof APIError && this.adapts(error)) return this.ask(system, content, outer);
      if (late.aborted) throw new Late();
      throw error;
    }
  }

  private bodyOf(system: string, content: readonly Content[]): ChatRequest {
    const { model, temperature, max_tokens: maxTokens } = this.options;
    return {
      model,
      messages: [
        { role: 'system', content: system },
        { role: 'user', content: content.map(partOf) },
      ],
      [this.tokenLimit]: maxTokens,
      temperature,
      ...(this.takesSchema
        ? {
            response_format: {
              type: 'json_schema',
              json_schema: { name: 'verdict', strict: true, schema: VERDICT_SCHEMA },
            },
          }
        : {}),
    };
  }

  /** Whether the error asks for another request format, which later requests then use. */
  private adapts({ status, message }: APIError): boolean {
    if (status !== 400 && status !== 422) return false;
    if (this.tokenLimit === 'max_tokens' && /max_completion_tokens/.test(message)) {
      this.tokenLimit = 'max_completion_tokens';
      return true;
    }
    if (this.takesSchema && /response_format|json_schema/.test(message)) {
      this.takesSchema = false;
      this.log('warn', `${this.name} takes no JSON schema: the prompt alone explains how to answer`);
      return true;
    }
    return false;
  }

  private get name(): string {
    return `${this.options.model} at ${this.options.base_url}`;
  }

  private reasonOf(error: unknown): string {
    const { base_url: address, request_timeout_ms: ms } = this.options;
    if (error instanceof NoVerdict) return `${this.name}: ${error.message}`;
    if (error instanceof Late) return `${this.name} gave no answer within ${ms} ms`;
    if (error instanceof APIConnectionError) return `${address} ${fetchFailure(error)}`;
    if (!(error instanceof APIError) || error.status === undefined)
      return `${this.name}: ${(error as Error).message}`;
    const said = `${this.name} answered ${error.message}`;
    const status = error.status as number;
    if (status === 401 || status === 403) return `${said}. ${this.howToGiveKey()}`;
    return status === 404 ? `${said}. Is base_url that of its API, and model one of its names?` : said;
  }

  private howToGiveKey(): string {
    const { origin } = new URL(this.options.base_url);
    const given = this.key === undefined ? 'gives it one' : 'has another one';
    return `JUDGE_API_KEYS=${origin}=KEY of the actor ${given}`;
  }

  /** Some servers repeat the request in their errors. */
  private masked(text: string): string {
    return this.key === undefined ? text : text.replaceAll(this.key, '[hidden]');
  }
}

function mayPass(error: unknown): boolean {
  if (error instanceof NoVerdict || error instanceof Late || error instanceof APIConnectionError) return true;
  const { status } = error as { status?: number };
  return status !== undefined && (status >= 500 || [408, 409, 429].includes(status));
}

/** Waits as long as a busy server requests, in addition to the retry delay. */
async function asTheServerWants(error: unknown, signal: AbortSignal): Promise<void> {
  const { headers } = error as { headers?: Headers };
  const seconds = Number(headers?.get('retry-after') ?? 0);
  if (!(seconds > 0)) return;
  await pause(seconds * 1_000, undefined, { signal }).catch(() => undefined);
}

function verdictOf({ choices }: OpenAI.ChatCompletion): Verdict {
  const choice = choices?.[0];
  if (choice?.message === undefined) throw new NoVerdict('it answered without choices');
  const { message, finish_reason: why } = choice;
  if (message.refusal) throw new NoVerdict(`it refused: ${message.refusal}`);
  if (why === 'length') throw new NoVerdict('its answer was cut off at max_tokens');
  return readVerdict(message.content ?? '');
}

function partOf(part: Content): OpenAI.ChatCompletionContentPart {
  if ('text' in part) return { type: 'text', text: part.text };
  const url = `data:image/png;base64,${Buffer.from(part.png).toString('base64')}`;
  return { type: 'image_url', image_url: { url } };
}

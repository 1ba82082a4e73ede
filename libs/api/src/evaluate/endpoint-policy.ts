import { createHash } from 'node:crypto';
import type { ChatMessage, ImageSize, PolicyActReply, PolicyActRequest } from '@ui-rl/contracts';
import { EpisodeFailure, type Clock, type Policy } from '@ui-rl/episode';
import { AnswerTooLong, boundedFetch, fetchFailure } from '@ui-rl/http';
import { RETRIES } from '@ui-rl/retry';
import { APIConnectionError, APIConnectionTimeoutError, APIError, type OpenAI } from 'openai';
import sharp from 'sharp';
import { EndpointClient } from './endpoint-client';
import { EndpointForm, type Parameter, type Sampling } from './endpoint-form';

type ChatRequest = OpenAI.ChatCompletionCreateParamsNonStreaming;
type ChatParts = OpenAI.ChatCompletionContentPart[];

export interface EndpointOptions {
  /** Base address of the API: `https://host/v1`. */
  address: string;
  /** The model's name at the endpoint. */
  model: string;
  /** API key; undefined for an endpoint that requires none. */
  key?: string | undefined;
  /** Called when requests deviate from the usual form. */
  onWarning: (message: string) => void;
}

/** Thrown when every request to an endpoint fails: no server answers, or it expects another key or model. */
export class EndpointRefusal extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'EndpointRefusal';
  }
}

/** Far larger than any answer. */
const MAX_ANSWER_BYTES = 16 * 2 ** 20;
const FIRST_QUESTION_MS = 120_000;

type Question = Sampling & Pick<PolicyActRequest, 'messages' | 'images'>;
type Asking = { signal?: AbortSignal | undefined; maxRetries?: number; timeout: number };
type Answer = Pick<PolicyActReply, 'text' | 'finishReason'>;

/** The consequence of omitting each parameter. */
const WITHOUT: Readonly<Record<Parameter, string>> = {
  seed: 'the same question may get another answer each time',
  temperature: 'it samples at its own temperature',
  top_p: 'it samples with its own threshold',
  max_tokens: 'its answers may be longer than rollout.max_tokens',
  max_completion_tokens: 'its answers may be longer than rollout.max_tokens',
};

/**
 * A policy behind an OpenAI-compatible endpoint (`/chat/completions`). It returns text only, so its episodes cannot
 * be trained on. Images are sent as data URLs; the prompt states their original size.
 */
export class EndpointPolicy implements Policy {
  readonly saysTokens = false;
  private readonly client: EndpointClient;
  private form = EndpointForm.whole;

  constructor(private readonly options: EndpointOptions) {
    const { address, key } = options;
    this.client = new EndpointClient({
      baseURL: address,
      apiKey: key ?? 'none',
      // Headers that the environment sets for OpenAI's service must not reach other servers.
      organization: null,
      project: null,
      logLevel: 'off',
      defaultHeaders: key === undefined ? { authorization: null } : {},
      maxRetries: RETRIES.endpointPolicy.attempts - 1,
      fetchOptions: { redirect: 'error' },
      fetch: boundedFetch({ maxBytes: MAX_ANSWER_BYTES, isTrusted: true }),
    });
  }

  /**
   * Sends one question with a picture, which also shows which parameters the endpoint accepts.
   * @throws EndpointRefusal that says what is wrong
   */
  async check(sampling: Sampling, signal?: AbortSignal): Promise<void> {
    const png = await sharp({
      create: { width: 224, height: 224, channels: 3, background: { r: 255, g: 255, b: 255 } },
    })
      .png()
      .toBuffer();
    const content: ChatMessage['content'] = [
      { type: 'image', image: 0 },
      { type: 'text', text: 'Which colour is this? Answer with one word.' },
    ];
    try {
      await this.ask(
        { ...sampling, messages: [{ role: 'user', content }], images: [png] },
        // The user is waiting for the answer.
        { signal, maxRetries: 1, timeout: FIRST_QUESTION_MS },
      );
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof EpisodeFailure) throw new EndpointRefusal(error.message, { cause: error });
      throw error;
    }
  }

  /** The prompt asks for coordinates in pixels of the unscaled picture. */
  async modelImage(screenshot: ImageSize): Promise<ImageSize> {
    return screenshot;
  }

  /** @throws EpisodeFailure if the next episode may succeed; EndpointRefusal if none will */
  async act(request: PolicyActRequest, clock: Clock): Promise<PolicyActReply> {
    const over = new AbortController();
    try {
      const timeout = Math.max(1, Math.ceil(clock.leftMs));
      const asking = this.ask(request, { signal: over.signal, timeout });
      const { text, finishReason } = await clock.race(asking);
      return {
        promptTokenIds: [],
        promptImages: shownImages(request),
        imageTokens: 0,
        tokenIds: [],
        logprobs: [],
        text,
        finishReason,
        policyVersion: 0,
        adapterDigest: '',
      };
    } finally {
      over.abort();
    }
  }

  /** The parameters that the endpoint rejects. */
  get refused(): Parameter[] {
    return this.form.leftOut;
  }

  /** Keeps the form once a request succeeds: a later error may name a parameter for another reason. */
  private async ask(question: Question, options: Asking): Promise<Answer> {
    let { form } = this;
    let isOther = false;
    for (;;) {
      try {
        const answer = await this.send(question, form, options);
        if (isOther) this.keep(form, question);
        return answer;
      } catch (error) {
        const other = isRefusal(error) ? form.without(error, question) : undefined;
        if (other === undefined) throw await this.failureOf(error);
        form = other;
        isOther = true;
      }
    }
  }

  private async send(
    { messages, images, ...sampling }: Question,
    form: EndpointForm,
    options: Asking,
  ): Promise<Answer> {
    const body = {
      model: this.options.model,
      ...form.parameters(sampling),
      messages: messages.map((message) => chatMessage(message, images as Uint8Array[])),
    } satisfies ChatRequest;
    const reply = await this.client.chat.completions.create(body, options);
    const [choice] = reply.choices ?? [];
    if (choice === undefined) throw new EndpointRefusal(`${this.name} gave an answer without choices`);
    const { message, finish_reason: why } = choice;
    return {
      text: message.content ?? message.refusal ?? '',
      finishReason: why === 'length' ? 'length' : 'stop',
    };
  }

  private keep(form: EndpointForm, sampling: Sampling): void {
    const before = this.form.leftOut;
    const asked = EndpointForm.whole.parameters(sampling);
    this.form = form;
    for (const name of form.leftOut.filter((each) => !before.includes(each))) {
      const value = name === 'seed' ? '' : ` ${asked[name]}`;
      this.options.onWarning(
        `${this.name} refuses ${name}${value} and is asked without it: ${WITHOUT[name]}`,
      );
    }
  }

  private get name(): string {
    return `${this.options.model} at ${this.options.address}`;
  }

  private async failureOf(error: unknown): Promise<unknown> {
    if (error instanceof APIConnectionTimeoutError) {
      return new EpisodeFailure('deadline', `${this.name} gave no answer in time`);
    }
    if (error instanceof APIConnectionError) {
      return new EndpointRefusal(`${this.options.address} ${fetchFailure(error)}`, {
        cause: error,
      });
    }
    if (error instanceof AnswerTooLong) return new EpisodeFailure('policy', `${this.name} ${error.message}`);
    if (!(error instanceof APIError) || error.status === undefined) return error;
    const said = `${this.name} answered ${error.message}`;
    switch (error.status as number) {
      case 401:
      case 403:
        return new EndpointRefusal(`${said}. ${this.howToGiveKey()}`, { cause: error });
      case 404:
        return new EndpointRefusal(`${said}.${await this.modelsThere()}`, { cause: error });
      default:
        return new EpisodeFailure('policy', said);
    }
  }

  private howToGiveKey(): string {
    const { origin } = new URL(this.options.address);
    const given = this.options.key === undefined ? 'gives it one' : 'has another one';
    return `UIRL_ENDPOINT_KEYS=${origin}=KEY ${given}`;
  }

  private async modelsThere(): Promise<string> {
    try {
      const { data } = await this.client.models.list({ maxRetries: 0, timeout: 10_000 });
      return ` Its models: ${data.map(({ id }) => id).join(', ') || 'none'}`;
    } catch {
      return ' Is the address that of its API, such as http://host:8000/v1?';
    }
  }
}

function isRefusal(error: unknown): error is APIError {
  return error instanceof APIError && (error.status === 400 || error.status === 422);
}

function chatMessage(
  { role, content }: ChatMessage,
  images: readonly Uint8Array[],
): OpenAI.ChatCompletionMessageParam {
  const parts = content.map((part): ChatParts[number] =>
    part.type === 'text'
      ? { type: 'text', text: part.text ?? '' }
      : { type: 'image_url', image_url: { url: dataUrl(images[part.image!]) } },
  );
  if (role === 'user') return { role, content: parts };
  // Many servers accept plain text only in these messages.
  const text = content.map((part) => part.text ?? '').join('');
  return { role: role as 'system' | 'assistant', content: text };
}

/** The sha256 of each picture, as often as the messages show it. */
function shownImages({ messages, images }: PolicyActRequest): string[] {
  const hashes = (images as Uint8Array[]).map((png) => createHash('sha256').update(png).digest('hex'));
  const parts = messages.flatMap(({ content }) => content);
  return parts.flatMap(({ image }) => (image === undefined ? [] : hashes[image]));
}

function dataUrl(png: Uint8Array): string {
  return `data:image/png;base64,${Buffer.from(png).toString('base64')}`;
}

import { createHash } from 'node:crypto';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promptChunks, type ChatMessage, type ContentPart, type Renderer } from '@ui-rl/models';
import type { Engine, ModelInput, ModelInputChunk, SampleResult } from '@ui-rl/plugin-kit';

/** Faults of a server. */
export interface Faults {
  /** Adapters are loaded but have no effect. */
  ignoresAdapters?: boolean;
  /** The adapter that was loaded first is sampled under all names. */
  servesFirst?: boolean;
  /** Adapters are rejected. */
  refusesAdapters?: boolean;
  /** The chat template adds a token. */
  otherPrompt?: boolean;
  noLogprobs?: boolean;
  /** Log-probabilities before temperature scaling. */
  rawLogprobs?: boolean;
  /** The hash of an image that replaces all others. */
  otherImage?: string;
  /** Number of sampling requests that fail. */
  failing?: number;
  /** Delay of answers, in milliseconds. */
  slowMs?: number;
}

interface Parts {
  engine: Engine;
  renderer: Renderer;
  imageTokenId: number;
  /** Stores images of requests where the engine finds them. */
  keepImage(png: Buffer): string;
  /**
   * Folder in which adapters are found by name, as by vLLM's resolver; without it, adapters are loaded by requests.
   */
  resolverDir?: string;
}

type Body = Record<string, unknown>;
type Call = { path: string; body: Body; headers: IncomingHttpHeaders };

interface Prompt {
  tokenIds: number[];
  images: readonly { sha256: string; tokens: number }[];
}

let servers = 0;

/**
 * A server that follows the documentation of vLLM and SGLang for the endpoints used here, and samples with this
 * project's engine, so that tokens and log-probabilities are real.
 */
export class OutsideServer {
  readonly calls: Call[] = [];
  faults: Faults = {};
  /** Sampling requests whose client disconnected. */
  aborted = 0;
  private readonly id = (servers += 1);
  /** Adapter names → names in the engine, in load order. */
  private readonly adapters = new Map<string, string>();
  private server: Server | undefined;
  private port = 0;

  constructor(private readonly parts: Parts) {}

  get address(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get loaded(): string[] {
    return [...this.adapters.keys()];
  }

  answersOf(...paths: string[]): Body[] {
    return this.answered(paths).map(({ body }) => body);
  }

  /** Values of a header in the sampling requests, in order. */
  answersWith(header: string): unknown[] {
    return this.answered(ANSWERS).map(({ headers }) => headers[header]);
  }

  private answered(paths: readonly string[]): Call[] {
    return this.calls.filter(({ path, body }) => paths.includes(path) && !isScoring(body));
  }

  /** Listens, on the previous port after a restart. */
  async start(): Promise<this> {
    this.server = createServer((request, response) => void this.respond(request, response));
    await new Promise<void>((resolve) => this.server!.listen(this.port, '127.0.0.1', resolve));
    this.port = (this.server.address() as AddressInfo).port;
    return this;
  }

  /** Stops like a killed process: connections break, adapters are lost. */
  async stop(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    if (server === undefined) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
    for (const name of this.loaded) await this.unload(name);
  }

  private async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const body = (text === '' ? {} : JSON.parse(text)) as Body;
    const path = request.url ?? '';
    this.calls.push({ path, body, headers: request.headers });
    response.on('close', () => (this.aborted += response.writableFinished ? 0 : 1));
    try {
      await this.misbehave(path, body);
      const reply = await this.handle(path, body);
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(typeof reply === 'string' ? reply : JSON.stringify(reply));
    } catch (error) {
      const { status = 500, message } = error as { status?: number; message: string };
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message, code: status } }));
    }
  }

  private async misbehave(path: string, body: Body): Promise<void> {
    if (!ANSWERS.includes(path) || isScoring(body)) return;
    if (this.faults.slowMs !== undefined) await pause(this.faults.slowMs);
    if ((this.faults.failing ?? 0) === 0) return;
    this.faults.failing! -= 1;
    throw refusal(500, 'EngineCore encountered an issue');
  }

  private async handle(path: string, body: Body): Promise<unknown> {
    switch (path) {
      case '/health':
        return '';
      case '/v1/models':
        return {
          data: [
            { id: 'base-model', parent: null },
            ...this.loaded.map((id) => ({ id, parent: 'base-model' })),
          ],
        };
      case '/v1/load_lora_adapter':
        return this.loadForVllm(body);
      case '/v1/unload_lora_adapter':
        if (!this.adapters.has(body.lora_name as string))
          throw refusal(404, 'The lora adapter cannot be found.');
        await this.unload(body.lora_name as string);
        return 'Success';
      case '/load_lora_adapter':
        return this.loadForSglang(body);
      case '/unload_lora_adapter':
        await this.unload(body.lora_name as string);
        return { success: true, error_message: null, loaded_adapters: {} };
      case '/v1/completions':
        return this.completions(body);
      case '/v1/chat/completions':
        return this.chat(body);
      case '/generate':
        return this.generate(body);
      default:
        throw refusal(404, 'Not Found');
    }
  }

  private async loadForVllm({ lora_name: name, lora_path: path }: Body): Promise<string> {
    if (this.adapters.has(name as string)) {
      throw refusal(400, `The lora adapter '${name as string}' has already been loaded.`);
    }
    if (this.faults.refusesAdapters === true)
      throw refusal(400, 'LoRA rank 4 is greater than max_lora_rank 2.');
    await this.load(name as string, path as string);
    return `Success: LoRA adapter '${name as string}' added successfully.`;
  }

  private async loadForSglang({ lora_name: name, lora_path: path }: Body): Promise<unknown> {
    if (this.faults.refusesAdapters === true)
      return { success: false, error_message: 'LoRA rank 4 is greater than max_lora_rank 2.' };
    await this.load(name as string, path as string);
    return { success: true, error_message: null, loaded_adapters: Object.fromEntries(this.adapters) };
  }

  private async load(name: string, dir: string): Promise<void> {
    const kept = `server-${this.id}-${name}`;
    await this.parts.engine.saveWeightsForSampler({ model: 'policy', name: kept, dir });
    this.adapters.set(name, kept);
  }

  private async unload(name: string): Promise<void> {
    const kept = this.adapters.get(name);
    this.adapters.delete(name);
    if (kept !== undefined) await this.parts.engine.releaseWeights(kept);
  }

  /** The engine's weights for a requested model name. */
  private async modelOf(name: unknown): Promise<string> {
    const { resolverDir } = this.parts;
    if (name === undefined || name === 'base-model') return 'base';
    if (!this.adapters.has(name as string) && resolverDir !== undefined) {
      await this.load(name as string, join(resolverDir, basename(name as string)));
    }
    const { ignoresAdapters = false, servesFirst = false } = this.faults;
    const found = servesFirst ? [...this.adapters.values()][0] : this.adapters.get(name as string);
    if (found === undefined) throw refusal(404, `The model \`${name as string}\` does not exist.`);
    return ignoresAdapters ? 'base' : found;
  }

  private async completions(body: Body): Promise<unknown> {
    const tokenIds = body.prompt as number[];
    const model = await this.modelOf(body.model);
    if (body.prompt_logprobs === 0) {
      const scores = await this.score(model, tokenIds);
      const places = scores.map((logprob, index) => ({ [tokenIds[index + 1]]: { logprob, rank: 1 } }));
      return { choices: [{ token_ids: [1], prompt_logprobs: [null, ...places] }] };
    }
    const sampled = await this.sample(model, { tokenIds, images: [] }, vllmSampling(body));
    const logprobs = this.faults.noLogprobs === true ? null : { token_logprobs: sampled.logprobs };
    return {
      choices: [
        {
          ...{ text: '', finish_reason: sampled.stopReason, logprobs },
          ...(body.return_token_ids === true
            ? { prompt_token_ids: this.asRead(tokenIds), token_ids: sampled.tokens }
            : {}),
        },
      ],
    };
  }

  private async chat(body: Body): Promise<unknown> {
    const { messages, pngs } = messagesOf(body.messages as ChatParam[]);
    for (const png of pngs) this.parts.keepImage(png);
    const prompt = await this.parts.renderer.renderPngs(messages, pngs);
    const model = await this.modelOf(body.model);
    const sampled = await this.sample(model, prompt, vllmSampling(body));
    const content = sampled.logprobs.map((logprob) => ({ token: '', logprob, top_logprobs: [] }));
    const isWhole = body.logprobs === true && this.faults.noLogprobs !== true;
    return {
      ...(body.return_token_ids === true ? { prompt_token_ids: this.asRead(prompt.tokenIds) } : {}),
      choices: [
        {
          message: { role: 'assistant', content: '' },
          finish_reason: sampled.stopReason,
          logprobs: isWhole ? { content } : null,
          ...(body.return_token_ids === true ? { token_ids: sampled.tokens } : {}),
        },
      ],
    };
  }

  private async generate(body: Body): Promise<unknown> {
    const input = body.input_ids as number[];
    const model = await this.modelOf(body.lora_path);
    if (body.logprob_start_len === 0) {
      const scores = await this.score(model, input);
      const places = scores.map((logprob, index) => [logprob, input[index + 1], null]);
      return { meta_info: { input_token_logprobs: [[null, input[0], null], ...places] } };
    }
    const prompt = await this.expand(input, (body.image_data as string[] | undefined) ?? []);
    const given = body.sampling_params as Body;
    const sampled = await this.sample(model, prompt, {
      maxTokens: given.max_new_tokens as number,
      temperature: given.temperature as number,
      topP: given.top_p as number,
      seed: given.sampling_seed as number,
    });
    const places = sampled.logprobs.map((logprob, index) => [logprob, sampled.tokens[index], null]);
    return {
      ...{ text: '', output_ids: sampled.tokens },
      ...(body.return_prompt_token_ids === true ? { prompt_token_ids: this.asRead(prompt.tokenIds) } : {}),
      meta_info: {
        finish_reason: { type: sampled.stopReason },
        ...(body.return_logprob === true && this.faults.noLogprobs !== true
          ? { output_token_logprobs: places }
          : {}),
      },
    };
  }

  /** Expands one placeholder per image to its number of features. */
  private async expand(input: readonly number[], urls: readonly string[]): Promise<Prompt> {
    const { renderer, imageTokenId } = this.parts;
    const pngs = urls.map(pngOf);
    for (const png of pngs) this.parts.keepImage(png);
    const content = pngs.map((): ContentPart => ({ type: 'image' }));
    const { images } = await renderer.renderPngs([{ role: 'user', content }], pngs);
    let next = 0;
    const tokenIds = input.flatMap((id) =>
      id === imageTokenId ? new Array<number>(images[next++].tokens).fill(id) : [id],
    );
    return { tokenIds, images };
  }

  private async sample(model: string, prompt: Prompt, how: Sampling): Promise<SampleResult> {
    const { engine } = this.parts;
    const input = this.inputOf(prompt);
    const result = await engine.sample({ model, prompt: input, ...how });
    if (this.faults.rawLogprobs !== true) return result;
    const chunks = [...input.chunks, { type: 'text' as const, tokens: result.tokens.slice(0, -1) }];
    const before = prompt.tokenIds.length - 1;
    const padding = new Array<number>(before).fill(0);
    const { logprobs } = await engine.forward({
      model,
      data: [
        {
          modelInput: { chunks: chunks.filter((chunk) => chunk.type === 'image' || chunk.tokens.length > 0) },
          targetTokens: [...padding, ...result.tokens],
          weights: [...padding, ...result.tokens.map(() => 1)],
        },
      ],
    });
    return { ...result, logprobs: [...logprobs[0].slice(before)] };
  }

  private inputOf({ tokenIds, images }: Prompt): ModelInput {
    const { otherImage } = this.faults;
    const chunks = promptChunks(tokenIds, images, this.parts.imageTokenId);
    const seen = (chunk: ModelInputChunk): ModelInputChunk =>
      chunk.type === 'image' && otherImage !== undefined ? { ...chunk, sha256: otherImage } : chunk;
    return { chunks: chunks.map(seen) };
  }

  private async score(model: string, tokens: readonly number[]): Promise<number[]> {
    const datum = {
      modelInput: { chunks: [{ type: 'text' as const, tokens: tokens.slice(0, -1) }] },
      targetTokens: tokens.slice(1),
      weights: tokens.slice(1).map(() => 1),
    };
    return [...(await this.parts.engine.forward({ model, data: [datum] })).logprobs[0]];
  }

  private asRead(tokenIds: readonly number[]): number[] {
    return this.faults.otherPrompt === true
      ? [...tokenIds.slice(0, 2), 7, ...tokenIds.slice(2)]
      : [...tokenIds];
  }
}

const ANSWERS = ['/v1/completions', '/v1/chat/completions', '/generate'];

interface Sampling {
  maxTokens: number;
  temperature: number;
  topP: number;
  seed: number;
}

function vllmSampling({ max_tokens, temperature, top_p, seed }: Body): Sampling {
  return { maxTokens: max_tokens, temperature, topP: top_p, seed } as Sampling;
}

function isScoring({ prompt_logprobs, logprob_start_len }: Body): boolean {
  return prompt_logprobs === 0 || logprob_start_len === 0;
}

function refusal(status: number, message: string): Error {
  return Object.assign(new Error(message), { status });
}

interface ChatParam {
  role: ChatMessage['role'];
  content: { type: 'text' | 'image_url'; text?: string; image_url?: { url: string } }[];
}

function messagesOf(given: readonly ChatParam[]): { messages: ChatMessage[]; pngs: Buffer[] } {
  const pngs: Buffer[] = [];
  const messages = given.map(({ role, content }) => ({
    role,
    content: content.map((part): ContentPart => {
      if (part.type === 'text') return { type: 'text', text: part.text };
      pngs.push(pngOf(part.image_url!.url));
      return { type: 'image', image: pngs.length - 1 };
    }),
  }));
  return { messages, pngs };
}

function pngOf(url: string): Buffer {
  return Buffer.from(url.replace('data:image/png;base64,', ''), 'base64');
}

export function hashOf(png: Buffer): string {
  return createHash('sha256').update(png).digest('hex');
}

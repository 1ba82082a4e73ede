import type { ConversationMessage } from '@ui-rl/plugin-kit';
import { SamplerError } from './errors';
import { call, callJson, ServerFailure, type Connection } from './http';
import { Fields, stopReasonOf, type Adapter, type Answer, type Ask, type Protocol } from './protocol';

/** Overrides the model's `generation_config.json`, so that only the request's settings apply. */
const PLAIN = { top_k: 0, min_p: 0, repetition_penalty: 1, presence_penalty: 0, frequency_penalty: 0, n: 1 };

/**
 * vLLM's server: text prompts as token ids to `/v1/completions`, prompts with images as messages to
 * `/v1/chat/completions`. This plugin's README.md lists fields and endpoints.
 */
export class Vllm implements Protocol {
  readonly name = 'vllm';
  private readonly baseNames = new Map<string, string>();

  /** @param loads by `endpoint`, or by vLLM's `resolver`, which finds an adapter by its folder name */
  constructor(private readonly loads: 'endpoint' | 'resolver') {}

  async ready(server: Connection): Promise<void> {
    await call(server, '/health');
  }

  async load(server: Connection, { name, path }: Adapter): Promise<void> {
    if (this.loads === 'resolver') return;
    try {
      await call(server, '/v1/load_lora_adapter', { lora_name: name, lora_path: path });
    } catch (error) {
      if (!isKnown(error)) throw adapterError(server, name, error);
    }
  }

  async unload(server: Connection, { name }: Adapter): Promise<void> {
    await call(server, '/v1/unload_lora_adapter', { lora_name: name });
  }

  async score(server: Connection, adapter: string | undefined, tokens: readonly number[]): Promise<number[]> {
    const model = adapter ?? (await this.baseNameOf(server));
    const path = '/v1/completions';
    const body = {
      ...{ ...PLAIN, model, prompt: tokens, add_special_tokens: false },
      ...{ max_tokens: 1, temperature: 0, prompt_logprobs: 0 },
    };
    const choice = choiceOf(server, path, await callJson(server, path, body));
    const places = choice.list('prompt_logprobs');
    return tokens.slice(1).map((token, index) => {
      const where = `prompt_logprobs[${index + 1}]`;
      return Fields.of(where, places[index + 1])
        .within(String(token))
        .number('logprob');
    });
  }

  sample(server: Connection, ask: Ask): Promise<Answer> {
    return ask.images.length === 0 ? this.complete(server, ask) : this.chat(server, ask);
  }

  private async complete(server: Connection, ask: Ask): Promise<Answer> {
    const path = '/v1/completions';
    const model = ask.adapter ?? (await this.baseNameOf(server));
    const prompt = ask.promptTokens;
    const body = { ...samplingOf(ask), model, prompt, add_special_tokens: false, logprobs: 0 };
    const choice = choiceOf(server, path, await callJson(server, path, body));
    return {
      promptTokens: choice.numbers('prompt_token_ids'),
      tokens: choice.numbers('token_ids'),
      logprobs: choice.within('logprobs').numbers('token_logprobs'),
      stopReason: stopReasonOf(choice, 'finish_reason'),
    };
  }

  private async chat(server: Connection, ask: Ask): Promise<Answer> {
    const path = '/v1/chat/completions';
    const { conversation, dataUrls } = ask;
    if (conversation === undefined) {
      throw new SamplerError(
        'request',
        'a prompt with images came without its messages: vLLM takes images in messages only',
      );
    }
    const model = ask.adapter ?? (await this.baseNameOf(server));
    const messages = conversation.messages.map((message) => messageOf(message, dataUrls));
    const tools = conversation.tools === undefined ? {} : { tools: conversation.tools, tool_choice: 'none' };
    const body = { ...samplingOf(ask), ...tools, model, messages, logprobs: true, top_logprobs: 0 };
    const reply = await callJson(server, path, body);
    const choice = choiceOf(server, path, reply);
    const places = choice.within('logprobs').list('content');
    return {
      promptTokens: Fields.of(server.address + path, reply).numbers('prompt_token_ids'),
      tokens: choice.numbers('token_ids'),
      logprobs: places.map((place, index) =>
        Fields.of(`logprobs.content[${index}]`, place).number('logprob'),
      ),
      stopReason: stopReasonOf(choice, 'finish_reason'),
    };
  }

  /** The served name of the base model: the first that is not an adapter. */
  private async baseNameOf(server: Connection): Promise<string> {
    const known = this.baseNames.get(server.address);
    if (known !== undefined) return known;
    const path = '/v1/models';
    const models = Fields.of(server.address + path, await callJson(server, path)).list('data');
    const base = models
      .map((model, index) => Fields.of(`data[${index}]`, model))
      .find((model) => !model.has('parent'));
    if (base === undefined) throw new SamplerError('server', `${server.address}${path} names no base model`);
    const name = base.text('id');
    this.baseNames.set(server.address, name);
    return name;
  }
}

function samplingOf({ maxTokens, temperature, topP, seed, stop }: Ask): Record<string, unknown> {
  return {
    ...{ ...PLAIN, max_tokens: maxTokens, temperature, top_p: topP, seed },
    ...{ stop_token_ids: stop, skip_special_tokens: false, return_token_ids: true },
  };
}

function messageOf({ role, content, toolCalls }: ConversationMessage, urls: Ask['dataUrls']): object {
  const calls = toolCalls?.map((call, index) => ({ id: `call_${index}`, type: 'function', function: call }));
  return {
    role,
    content: content.map((part) =>
      part.type === 'text' ? part : { type: 'image_url', image_url: { url: urls.get(part.sha256) } },
    ),
    tool_calls: calls,
  };
}

function choiceOf(server: Connection, path: string, reply: unknown): Fields {
  const where = server.address + path;
  return Fields.of(`${where} choices[0]`, Fields.of(where, reply).list('choices')[0]);
}

function isKnown(error: unknown): boolean {
  return error instanceof SamplerError && error.message.includes('has already been loaded');
}

/** A rejected adapter stays rejected; a server that is unreachable or fails may recover. */
function adapterError({ address }: Connection, name: string, error: unknown): unknown {
  const isAbsent = error instanceof ServerFailure && error.status === 404;
  const isRefusal = error instanceof SamplerError && error.category === 'request';
  if (!isAbsent && !isRefusal) return error;
  const hint = isAbsent
    ? 'Was it started with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True, and does it see the folder?'
    : 'Is --max-lora-rank at least the rank of the adapter?';
  return new SamplerError(
    'adapter',
    `${address} did not load the adapter ${name}. ${hint} ${error.message}`,
    {
      cause: error,
    },
  );
}

import { SamplerError } from './errors';
import { call, callJson, type Connection } from './http';
import { Fields, type Adapter, type Answer, type Ask, type Protocol } from './protocol';

const PATH = '/generate';
const PLAIN = { top_k: -1, min_p: 0, repetition_penalty: 1, presence_penalty: 0, frequency_penalty: 0 };

/**
 * SGLang's own `/generate`: token ids in and out, with separate images. This plugin's README.md lists fields and
 * endpoints.
 */
export class Sglang implements Protocol {
  readonly name = 'sglang';

  async ready(server: Connection): Promise<void> {
    await call(server, '/health');
  }

  async load(server: Connection, { name, path }: Adapter): Promise<void> {
    const message = await this.change(server, '/load_lora_adapter', { lora_name: name, lora_path: path });
    if (message === undefined || message.includes('already loaded')) return;
    throw new SamplerError(
      'adapter',
      `${server.address} did not load the adapter ${name}: ${message}. Was it started with --enable-lora and --max-lora-rank of at least its rank, and does it see the folder?`,
    );
  }

  async unload(server: Connection, { name }: Adapter): Promise<void> {
    const message = await this.change(server, '/unload_lora_adapter', { lora_name: name });
    if (message !== undefined)
      throw new SamplerError('adapter', `${server.address} did not unload the adapter ${name}: ${message}`);
  }

  async score(server: Connection, adapter: string | undefined, tokens: readonly number[]): Promise<number[]> {
    const body = {
      input_ids: tokens,
      sampling_params: { ...PLAIN, max_new_tokens: 1, temperature: 0 },
      return_logprob: true,
      logprob_start_len: 0,
      lora_path: adapter,
    };
    const meta = Fields.of(server.address + PATH, await callJson(server, PATH, body)).within('meta_info');
    const places = meta.list('input_token_logprobs');
    return tokens.slice(1).map((token, index) => {
      const [logprob, found] = pairOf(places[index + 1]);
      const path = `input_token_logprobs[${index + 1}]`;
      if (found !== token) throw meta.wrong(path, places[index + 1], `that of token ${token}`);
      return meta.number(path, logprob);
    });
  }

  async sample(server: Connection, ask: Ask): Promise<Answer> {
    const { adapter, maxTokens, temperature, topP, seed, stop, images, dataUrls } = ask;
    const body = {
      input_ids: withoutRuns(ask),
      ...(images.length === 0 ? {} : { image_data: images.map(({ sha256 }) => dataUrls.get(sha256)) }),
      sampling_params: {
        ...{ ...PLAIN, max_new_tokens: maxTokens, temperature, top_p: topP, sampling_seed: seed },
        ...{ stop_token_ids: stop, skip_special_tokens: false, no_stop_trim: true },
      },
      return_logprob: true,
      return_prompt_token_ids: true,
      lora_path: adapter,
    };
    const reply = Fields.of(server.address + PATH, await callJson(server, PATH, body));
    const meta = reply.within('meta_info');
    const places = meta.list('output_token_logprobs').map(pairOf);
    return {
      promptTokens: reply.numbers('prompt_token_ids'),
      tokens: places.map(([, token], index) => meta.number(`output_token_logprobs[${index}][1]`, token)),
      logprobs: places.map(([logprob], index) => meta.number(`output_token_logprobs[${index}][0]`, logprob)),
      stopReason: reasonOf(meta.within('finish_reason')),
    };
  }

  /** The server's error message; undefined on success. */
  private async change(server: Connection, path: string, body: object): Promise<string | undefined> {
    try {
      const reply = Fields.of(server.address + path, await callJson(server, path, body));
      return reply.has('error_message') ? reply.text('error_message') : undefined;
    } catch (error) {
      if (error instanceof SamplerError && error.category === 'request') return error.message;
      throw error;
    }
  }
}

/** The prompt with one placeholder per image: the server expands it to the image's number of features. */
function withoutRuns({ promptTokens, images }: Ask): number[] {
  if (images.some(({ interrupted }) => interrupted)) {
    throw new SamplerError(
      'request',
      'an image is shown in tiles with text between them: SGLang is given one placeholder for each image',
    );
  }
  const dropped = new Set(
    images.flatMap(({ at, tokens }) => Array.from({ length: tokens - 1 }, (_, place) => at + 1 + place)),
  );
  return promptTokens.filter((_, place) => !dropped.has(place));
}

function pairOf(place: unknown): readonly unknown[] {
  return Array.isArray(place) ? place : [];
}

function reasonOf(finish: Fields): 'stop' | 'length' {
  const type = finish.text('type');
  if (type === 'stop' || type === 'length') return type;
  throw finish.wrong('type', type, '"stop" or "length"');
}

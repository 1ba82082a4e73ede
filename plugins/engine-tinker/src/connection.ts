import { AnswerTooLong, boundedFetch, fetchFailure, RETRIES, isRecord, retry } from '@ui-rl/plugin-kit';
import { TinkerError } from './errors';

export type Json = Record<string, unknown>;

export interface ConnectionOptions {
  /** Base URL of the service, without a trailing slash. */
  address: string;
  /** Sent as `X-API-Key`; undefined for none. */
  key: string | undefined;
  /** Whether this machine's owner configured the service, as opposed to a run file. */
  isTrusted?: boolean;
  /** Time limit of one answer, in milliseconds. */
  timeoutMs: number;
  /** How long a request is retried after transient failures, in milliseconds. */
  retryMs: number;
  /** Called once a minute while the service keeps failing. */
  onFailing?: (message: string) => void;
}

/** An error response, or no response from the service. */
export class ServiceFailure extends TinkerError {
  constructor(
    message: string,
    /** HTTP status; undefined without a response. */
    readonly status: number | undefined,
    options?: ErrorOptions,
  ) {
    super(isTransient(status) || status === 404 || status === 410 ? 'worker' : 'request', message, options);
  }
}

/** Ignores the error for something that is already deleted. */
export async function unlessGone(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof ServiceFailure && error.status === 404)) throw error;
  }
}

function isTransient(status: number | undefined): boolean {
  return status === undefined || status === 408 || status === 429 || status >= 500;
}

const SHOWN = 300;
/** Fits losses and log-probabilities of a whole batch. */
const MAX_ANSWER_BYTES = 128 * 2 ** 20;
const TOLD_EVERY_MS = 60_000;

/**
 * Requests to a service with Tinker's API. Each may be sent more than once: those that change weights carry sequence
 * numbers.
 */
export class Connection {
  private toldAt = -Infinity;

  constructor(private readonly options: ConnectionOptions) {}

  get address(): string {
    return this.options.address;
  }

  get(path: string): Promise<Json> {
    return this.again(() => this.once(path));
  }

  /** Deletes a resource; does nothing if it does not exist. */
  async delete(path: string, signal?: AbortSignal): Promise<void> {
    await unlessGone(this.again(() => this.once(path, { method: 'DELETE', signal }), signal));
  }

  post(verb: string, body: object, signal?: AbortSignal): Promise<Json> {
    return this.again(() => this.once(verb, { method: 'POST', body, signal }), signal);
  }

  /** Starts an operation, and polls for its result. */
  async result(verb: string, body: object, signal?: AbortSignal): Promise<Json> {
    return this.retrieve(verb, await this.post(verb, body, signal), signal);
  }

  async retrieve(verb: string, begun: Json, signal?: AbortSignal): Promise<Json> {
    const { request_id } = begun;
    if (typeof request_id !== 'string') {
      throw new TinkerError('worker', `${this.urlOf(verb)} answered without request_id: ${shown(begun)}`);
    }
    for (;;) {
      const found = await this.post('retrieve_future', { request_id }, signal);
      if (found.type === 'try_again') continue;
      if (typeof found.error !== 'string') return found;
      const category = found.category === 'user' ? 'request' : 'worker';
      throw new TinkerError(category, `${this.urlOf(verb)}: ${found.error}`);
    }
  }

  private again(send: () => Promise<Json>, signal?: AbortSignal): Promise<Json> {
    return retry({ ...RETRIES.tinker, withinMs: this.options.retryMs }, send, {
      isTransient: (error) => error instanceof ServiceFailure && isTransient(error.status),
      onFailure: (error, failures) => this.tell(error as Error, failures),
      signal,
    });
  }

  /** Reports from the second failure on: many requests succeed at the first retry. */
  private tell({ message }: Error, failures: number): void {
    if (failures < 2 || performance.now() - this.toldAt < TOLD_EVERY_MS) return;
    this.toldAt = performance.now();
    const seconds = this.options.retryMs / 1000;
    this.options.onFailing?.(`${message}; it is asked again for up to ${seconds} s (retry_ms)`);
  }

  private async once(
    path: string,
    { method, body, signal: caller }: { method: string; body?: object; signal?: AbortSignal | undefined } = {
      method: 'GET',
    },
  ): Promise<Json> {
    const { key, timeoutMs, isTrusted = false } = this.options;
    const url = this.urlOf(path);
    const late = AbortSignal.timeout(timeoutMs);
    const signal = caller === undefined ? late : AbortSignal.any([late, caller]);
    const headers = {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { 'x-api-key': key }),
    };
    let response: Response;
    let text: string;
    try {
      const init = { method, headers, signal, redirect: 'error' as const };
      const ask = boundedFetch({ maxBytes: MAX_ANSWER_BYTES, isTrusted });
      response = await ask(url, { ...init, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
      text = await response.text();
    } catch (cause) {
      caller?.throwIfAborted();
      if (cause instanceof AnswerTooLong)
        throw new TinkerError('worker', `${url} ${cause.message}`, { cause });
      const why = late.aborted ? `gave no answer within ${timeoutMs / 1000} s` : fetchFailure(cause);
      throw new ServiceFailure(`${url} ${why}`, undefined, { cause });
    }
    // Other services report a pending future by this timeout.
    if (response.status === 408) return { type: 'try_again' };
    if (response.status === 204) return {};
    if (response.ok) return parsed(url, text);
    const isKey = response.status === 401 || response.status === 403;
    const hint = !isKey
      ? ''
      : key === undefined
        ? `. No key was sent: set TINKER_API_KEY and TINKER_BASE_URL=${this.address} for the learner; the key goes to that address alone`
        : '. Is TINKER_API_KEY of the learner right?';
    throw new ServiceFailure(`${url} answered ${response.status}: ${detailOf(text)}${hint}`, response.status);
  }

  private urlOf(path: string): string {
    return `${this.options.address}/api/v1/${path}`;
  }
}

function parsed(url: string, text: string): Json {
  try {
    const value = JSON.parse(text) as unknown;
    if (isRecord(value)) return value;
  } catch {
    // Reported below.
  }
  throw new TinkerError('worker', `${url} answered no JSON object: ${text.slice(0, SHOWN)}`);
}

function detailOf(text: string): string {
  try {
    const { detail } = JSON.parse(text) as Json;
    if (typeof detail === 'string') return detail.slice(0, SHOWN);
  } catch {
    // Not JSON: return the text itself.
  }
  return text.trim().slice(0, SHOWN) || 'nothing more';
}

function shown(value: unknown): string {
  return JSON.stringify(value).slice(0, SHOWN);
}

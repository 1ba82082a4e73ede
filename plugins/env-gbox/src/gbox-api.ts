import {
  AnswerTooLong,
  boundedFetch,
  DeviceError,
  isRecord,
  RETRIES,
  retry,
  show,
  type DeviceErrorCode,
} from '@ui-rl/plugin-kit';
import type { Account } from './machine';

type Json = Record<string, unknown>;

interface Request {
  method: 'GET' | 'POST';
  path: string;
  body?: Json;
}

/** More than any screenshot in base64. */
const MAX_BYTES = 64 * 2 ** 20;
/** The env service's environment configures the address. */
const ask = boundedFetch({ maxBytes: MAX_BYTES, isTrusted: true });
/** Errors that occur before any byte of the request reaches a server. */
const NOT_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** A failed request, and how it may be repeated. */
class Attempt extends DeviceError {
  constructor(
    code: DeviceErrorCode,
    message: string,
    /** Nothing was executed, so any request may be repeated. */
    readonly refused: boolean,
    /** The same request may succeed later. */
    readonly passes: boolean,
    options?: ErrorOptions,
  ) {
    super(code, message, options);
  }
}

/** Requests to GBox. Messages never contain the key, even if a server repeats it. */
export class GboxApi {
  constructor(private readonly account: Account) {}

  /** Sends an idempotent request: retried while GBox is busy or fails. */
  repeat(request: Request, signal: AbortSignal): Promise<Json> {
    return this.attempts(request, signal, ({ passes }) => passes);
  }

  /** Sends a request that must not run twice: retried only if nothing was executed. */
  once(request: Request, signal: AbortSignal): Promise<Json> {
    return this.attempts(request, signal, ({ passes, refused }) => passes && refused);
  }

  private attempts(
    request: Request,
    signal: AbortSignal,
    again: (failed: Attempt) => boolean,
  ): Promise<Json> {
    return retry(RETRIES.gbox, () => this.send(request, signal), {
      signal,
      isTransient: (error) => error instanceof Attempt && again(error),
    });
  }

  private async send({ method, path, body }: Request, signal: AbortSignal): Promise<Json> {
    const what = `GBox: ${method} ${path}`;
    try {
      const response = await ask(new URL(path, this.account.baseUrl), {
        method,
        headers: { authorization: `Bearer ${this.account.key}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        // The key must not be sent to another address.
        redirect: 'error',
        signal,
      });
      const text = await response.text();
      if (!response.ok) throw this.refusal(what, response.status, text);
      return this.read(text, what);
    } catch (error) {
      if (error instanceof DeviceError) throw error;
      if (error instanceof AnswerTooLong) throw new DeviceError('crashed', `${what}: GBox ${error.message}`);
      if (signal.aborted) throw new DeviceError('deadline', `${what}: no answer in time`, { cause: error });
      throw this.lost(what, error);
    }
  }

  private read(text: string, what: string): Json {
    if (text === '') return {};
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      value = undefined;
    }
    if (isRecord(value)) return value;
    throw new DeviceError('crashed', this.masked(`${what}: expected a JSON object, found ${show(text)}`));
  }

  private refusal(what: string, status: number, text: string): Attempt {
    const message = this.masked(`${what}: ${status} ${show(text)}`);
    const hint = status === 401 || status === 403 ? '. Is GBOX_API_KEY of the env service right?' : '';
    const busy = status === 429;
    const code = busy || status === 402 ? 'capacity' : 'crashed';
    return new Attempt(code, message + hint, busy, busy || status === 408 || status >= 500);
  }

  private lost(what: string, error: unknown): Attempt {
    const cause = error instanceof Error ? error.cause : undefined;
    const { code = '', message = String(error) } = (cause ?? error) as { code?: string; message?: string };
    return new Attempt('crashed', this.masked(`${what}: ${message}`), NOT_SENT.has(code), true, {
      cause: error,
    });
  }

  private masked(text: string): string {
    return text.replaceAll(this.account.key, '[hidden]');
  }
}

import { boundedFetch, fetchFailure } from '@ui-rl/plugin-kit';

/** An error response of the server, or no response. */
export class ServerError extends Error {
  override readonly name = 'ServerError';

  constructor(
    message: string,
    /** HTTP status; undefined without a response, when it is unknown whether the request was executed. */
    readonly status?: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  /** Whether the same request may succeed later. */
  get passes(): boolean {
    return this.status === undefined || this.status === 429 || this.status >= 500;
  }
}

export interface ServerAddress {
  /** `http://host:5000`. */
  uri: string;
  token?: string;
  username?: string;
  password?: string;
}

const API = 'api/2.0/mlflow';
/** A page of a metric's history has about 4 MB. */
const MAX_ANSWER_BYTES = 64 * 2 ** 20;
/** The learner's environment configures the address. */
const ask = boundedFetch({ maxBytes: MAX_ANSWER_BYTES, isTrusted: true });

/** MLflow's REST API (https://mlflow.org/docs/latest/rest-api.html). Sends each request once, without retries. */
export class Server {
  private readonly headers: Record<string, string>;
  private readonly base: string;

  constructor(
    { uri, token, username, password }: ServerAddress,
    private readonly timeoutMs: number,
  ) {
    this.base = `${uri.replace(/(?<!\/)\/+$/, '')}/${API}/`;
    const basic = Buffer.from(`${username ?? ''}:${password ?? ''}`).toString('base64');
    this.headers = {
      'content-type': 'application/json',
      ...(username === undefined ? {} : { authorization: `Basic ${basic}` }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
  }

  /** @throws ServerError */
  get<T>(path: string, query: Record<string, string>): Promise<T> {
    return this.request(`${path}?${new URLSearchParams(query).toString()}`, {});
  }

  /** @throws ServerError */
  post<T>(path: string, body: object): Promise<T> {
    return this.request(path, { method: 'POST', body: JSON.stringify(body) });
  }

  private async request<T>(path: string, init: RequestInit): Promise<T> {
    const what = path.split('?')[0];
    let response: Response;
    let text: string;
    try {
      const signal = AbortSignal.timeout(this.timeoutMs);
      response = await ask(this.base + path, { ...init, headers: this.headers, signal });
      text = await response.text();
    } catch (error) {
      throw new ServerError(`${what}: ${this.base} ${fetchFailure(error)}`, undefined, { cause: error });
    }
    if (response.ok) return parse(what, text) as T;
    throw new ServerError(
      `${what} was answered with ${response.status}: ${text.slice(0, 300)}`,
      response.status,
    );
  }
}

function parse(what: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ServerError(
      `${what} was answered with something else than JSON: ${text.slice(0, 100)}`,
      undefined,
      { cause },
    );
  }
}

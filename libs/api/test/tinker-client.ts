/** Fields of all answers; each answer has some of them. */
export interface Reply {
  type: string;
  request_id: string;
  session_id: string;
  sampling_session_id: string;
  sample_sequence_ids: string[];
  model_id: string;
  path: string;
  error: string;
  category: string;
  detail: string;
  metrics: Record<string, number>;
  loss_fn_outputs: Record<'logprobs' | 'elementwise_loss' | 'values', { data: number[] }>[];
  weights: { version: number; digest: string };
  sequences: { tokens: number[]; logprobs: number[]; stop_reason: string }[];
  prompt_logprobs: (number | null)[] | null;
  supported_models: object[];
  training_runs: object[];
  checkpoints: object[];
  user_metadata: object;
}

/** A client of Tinker's API for tests: JSON over fetch, with polling for futures. */
export class PlainClient {
  constructor(
    private readonly url: string,
    private readonly key?: string,
  ) {}

  request(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    if (this.key !== undefined) headers.set('X-API-Key', this.key);
    return fetch(`${this.url}/api/v1/${path}`, { ...init, headers });
  }

  get(path: string): Promise<Reply> {
    return this.request(path).then(jsonOf);
  }

  post(verb: string, body: object): Promise<Reply> {
    const headers = { 'Content-Type': 'application/json' };
    return this.request(verb, { method: 'POST', headers, body: JSON.stringify(body) }).then(jsonOf);
  }

  /** The result of a request's future; throws its failure. */
  async result({ request_id }: Pick<Reply, 'request_id'>): Promise<Reply> {
    for (;;) {
      const found = await this.post('retrieve_future', { request_id });
      if (found.type === 'try_again') continue;
      if ('error' in found) throw new Error(`${found.category}: ${found.error}`);
      return found;
    }
  }

  async run(verb: string, body: object): Promise<Reply> {
    return this.result(await this.post(verb, body));
  }
}

async function jsonOf(response: Response): Promise<Reply> {
  const body = (await response.json()) as Reply;
  if (response.ok) return body;
  throw new Error(`${response.status}: ${body.detail}`);
}

/** A client with its own session. */
export class TrainingClient extends PlainClient {
  private constructor(
    url: string,
    readonly session: string,
  ) {
    super(url);
  }

  static async begin(url: string): Promise<TrainingClient> {
    const { session_id } = await new PlainClient(url).post('create_session', { tags: [], sdk_version: '1' });
    return new TrainingClient(url, session_id);
  }

  createCritic(): Promise<string> {
    return this.createModel({ rank: 4, seed: 7 }, { model_role: 'critic' });
  }

  async createModel(lora: object = { rank: 4, seed: 7 }, change: object = {}): Promise<string> {
    const request = { session_id: this.session, base_model: 'small', lora_config: lora, ...change };
    return (await this.run('create_model', request)).model_id;
  }

  async sampler(source: object): Promise<string> {
    const body = { session_id: this.session, ...source };
    return (await this.post('create_sampling_session', body)).sampling_session_id;
  }
}

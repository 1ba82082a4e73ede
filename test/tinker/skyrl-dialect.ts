import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Json = Record<string, unknown>;
type Answer = { status: number; body: Json };

/**
 * A fake of SkyRL's server, for behavior that differs from `ui-rl serve tinker`: it has no model, and returns the
 * log-probability -1 for all tokens, and the value 0.5 for all states. It records its requests. `npm run
 * tinker:skyrl` runs the real one.
 */
export class SkyRlDialect {
  readonly asked: { verb: string; body: Json }[] = [];
  /** Samples are answered after this promise resolves. */
  held: Promise<void> = Promise.resolve();
  private readonly results = new Map<string, Answer>();
  private readonly saved = new Set<string>();
  private readonly models = new Map<string, { requests: number; role: unknown }>();
  private created = 0;
  /** False as with a server that computes no log-probabilities of prompts. */
  scoresPrompts = true;
  /** True as with FSDP; other backends have no critics. */
  hasCritics = false;
  private readonly server = createServer((request, response) => void this.answer(request, response));

  static async start(): Promise<SkyRlDialect> {
    const service = new SkyRlDialect();
    await new Promise<void>((resolve) => service.server.listen(0, '127.0.0.1', resolve));
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  bodiesOf(verb: string): Json[] {
    return this.asked.filter((each) => each.verb === verb).map(({ body }) => body);
  }

  /** Addresses of existing weights. */
  get checkpoints(): string[] {
    return [...this.saved].toSorted();
  }

  /** Simulates a restart: sessions are in its database, models are gone. */
  restart(): void {
    this.models.clear();
  }

  /** Behaves like services that ignore `model_role`. */
  forgetRoles(): void {
    for (const model of this.models.values()) model.role = 'policy';
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const verb = (request.url ?? '').replace('/api/v1/', '');
    const body = parts.length === 0 ? {} : (JSON.parse(Buffer.concat(parts).toString()) as Json);
    if (request.method === 'DELETE') {
      response.writeHead(this.delete(verb) ? 204 : 404).end();
      return;
    }
    if (verb !== 'retrieve_future') this.asked.push({ verb, body });
    if (verb === 'asample') await this.held;
    const { status, body: answered } = this.answerTo(verb, body);
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(answered));
  }

  private delete(path: string): boolean {
    const [, model, name] = /^training_runs\/([^/]+)\/checkpoints\/(.+)$/.exec(path) ?? [];
    return this.saved.delete(`tinker://${model}/${name}`);
  }

  private answerTo(verb: string, body: Json): Answer {
    if (verb === 'get_server_capabilities') return ok({ supported_models: [{ model_name: 'qwen3' }] });
    if (verb === 'create_session') return ok({ session_id: 'session_1' });
    if (verb === 'create_sampling_session') return ok({ sampling_session_id: JSON.stringify(body) });
    if (verb === 'session_heartbeat') return ok({});
    if (verb === 'retrieve_future')
      return this.results.get(String(body.request_id)) ?? refused(404, 'Future not found');
    const taken = this.refusal(verb, body);
    if (taken !== undefined) return taken;
    const id = String(this.asked.length);
    this.results.set(id, this.resultOf(verb, body));
    return ok({ future_id: id, status: 'pending', request_id: id });
  }

  /** Requests that are rejected immediately. */
  private refusal(verb: string, { model_id, path }: Json): Answer | undefined {
    const model = this.models.get(String(model_id));
    if (verb === 'load_weights' && (model?.requests ?? 0) > 0)
      return refused(400, `LoadWeights is not permitted with seq_id ${model!.requests + 1}`);
    if (model !== undefined) model.requests += 1;
    if (!verb.startsWith('save_weights')) return undefined;
    const address = addressOf(verb, String(model_id), String(path));
    if (this.saved.has(address))
      return refused(409, `Checkpoint '${String(path)}' already exists for model '${String(model_id)}'`);
    this.saved.add(address);
    return undefined;
  }

  private resultOf(verb: string, body: Json): Answer {
    if (verb === 'create_model') return this.createModel(body);
    const id = verb === 'asample' ? modelOf(body) : String(body.model_id);
    if (id !== undefined && !this.models.has(id))
      return refused(400, `Model ${id} not loaded (likely stale request from previous server)`);
    if (verb === 'unload_model') this.models.delete(String(id));
    if (verb === 'asample') return ok(sampled(body, this.scoresPrompts));
    if (verb === 'optim_step') return ok({ metrics: { 'skyrl.ai/grad_norm': 0.5 } });
    if (verb.startsWith('save_weights')) return ok({ path: addressOf(verb, String(id), String(body.path)) });
    const isCritic = this.models.get(String(id))?.role === 'critic';
    if (verb === 'forward') return ok(scored(body, isCritic));
    if (verb === 'forward_backward') return isCritic ? learnt(body) : ok(trained(body));
    return ok({});
  }

  private createModel({ model_role = 'policy' }: Json): Answer {
    if (model_role !== 'policy' && !this.hasCritics) {
      return failed(`JaxBackend only supports model_role='policy', got '${String(model_role)}'`);
    }
    if (model_role !== 'policy' && this.models.size === 0) {
      return failed('Create a policy model before creating a critic model');
    }
    const id = `model_${this.created++}`;
    this.models.set(id, { requests: 0, role: model_role });
    return ok({ model_id: id, type: 'create_model' });
  }
}

function addressOf(verb: string, model: string, path: string): string {
  return `tinker://${model}/${verb === 'save_weights' ? 'weights' : 'sampler_weights'}/${path}`;
}

/** The model from whose weights a request samples; undefined for the base model. */
function modelOf({ sampling_session_id }: Json): string | undefined {
  const { model_path = '' } = JSON.parse(String(sampling_session_id)) as { model_path?: string };
  return /^tinker:\/\/([^/]+)/.exec(model_path)?.[1];
}

/** All log-probabilities of a prompt except the first token's, which has none. */
function sampled({ prompt, prompt_logprobs }: Json, scoresPrompts: boolean): Json {
  const { chunks } = prompt as { chunks: { tokens: number[] }[] };
  const count = chunks.reduce((sum, { tokens }) => sum + tokens.length, 0);
  return {
    sequences: [{ tokens: [5, 6], logprobs: [-1, -1], stop_reason: 'stop' }],
    prompt_logprobs:
      prompt_logprobs === true && scoresPrompts
        ? Array.from({ length: count - 1 }, (_, index) => -(index + 1))
        : null,
  };
}

type Inputs = Partial<Record<string, { data: number[] }>>;

function inputsOf(input: unknown): Inputs[] {
  return (input as { data: { loss_fn_inputs: Inputs }[] }).data.map(({ loss_fn_inputs }) => loss_fn_inputs);
}

function trained({ forward_backward_input }: Json): Json {
  const outputs = inputsOf(forward_backward_input).map(({ target_tokens }) => ({
    logprobs: { data: target_tokens!.data.map(() => -1) },
  }));
  return { loss_fn_outputs: outputs, metrics: {} };
}

/** One number per weight. */
function scored({ forward_input }: Json, isCritic: boolean): Json {
  const outputs = inputsOf(forward_input).map(({ weights }) => {
    const data = weights!.data.map(() => (isCritic ? 0.5 : -1));
    const tensor = { data, dtype: 'float32', shape: [data.length] };
    return isCritic ? { values: tensor } : { logprobs: tensor };
  });
  return { loss_fn_output_type: 'scalar', loss_fn_outputs: outputs, metrics: {} };
}

/** A critic's training step returns no values. */
function learnt({ forward_backward_input }: Json): Answer {
  const { loss_fn } = forward_backward_input as { loss_fn: string };
  if (!['ppo', 'ppo_critic'].includes(loss_fn)) {
    return failed(`Critic batches must use loss_fn='ppo' or 'ppo_critic', got '${loss_fn}'`);
  }
  const inputs = inputsOf(forward_backward_input);
  const isWhole = inputs.every(({ values, returns, weights }) =>
    [values, returns].every((each) => each?.data.length === weights!.data.length),
  );
  if (!isWhole) return failed('Critic forward_backward requires values and returns for every response token');
  return ok({
    loss_fn_output_type: 'scalar',
    loss_fn_outputs: inputs.map(() => ({})),
    metrics: { 'critic_loss:sum': 0.25, 'values_mean:mean': 0.5, 'values_clipfrac:mean': 0 },
  });
}

function ok(body: Json): Answer {
  return { status: 200, body };
}

/** An error during execution. */
function failed(error: string): Answer {
  return ok({ error, status: 'failed' });
}

function refused(status: number, detail: string): Answer {
  return { status, body: { detail } };
}

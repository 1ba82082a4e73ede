import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  RETRIES,
  retry,
  type Sampler,
  type SamplerContext,
  type SamplerRequest,
  type SampleResult,
} from '@ui-rl/plugin-kit';
import { SamplerError } from './errors';
import { ServerFailure, type Connection } from './http';
import type { ServerOptions } from './options';
import { answerByEngine, digits, meanDifference, scoresByEngine, type Scores } from './probe';
import { mustBeSamePrompt, promptOf } from './prompts';
import { prove } from './prove';
import type { Answer, Ask, Protocol } from './protocol';
import { Routing, Server } from './servers';
import type { Version } from './version';

/** Time limit in milliseconds for health checks and for unloading an adapter. */
const QUICK_MS = 5_000;

/** Samples the policy from external servers, each version as an adapter with its own name. */
export class ServerSampler implements Sampler {
  private readonly routing: Routing;
  private readonly versions = new Map<string, Version>();
  private readonly leaving = new Set<Promise<void>>();
  private readonly stopping = new AbortController();
  private readonly probes: readonly (readonly number[])[];
  private baseScores: Promise<Scores> | undefined;
  private exported = 0;
  /** Serializes loading versions into servers and reviving servers. */
  private changing: Promise<unknown> = Promise.resolve();
  private rechecking = false;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly protocol: Protocol,
    private readonly options: ServerOptions,
    private readonly context: SamplerContext,
  ) {
    const { servers, request_timeout_ms: timeoutMs, recheck_ms: everyMs } = options;
    const connect = (address: string): Server =>
      new Server({ address, apiKey: context.apiKeyOf(address), timeoutMs });
    this.routing = new Routing(servers.map(connect));
    this.probes = context.probes();
    this.timer = setInterval(() => void this.recheck(), everyMs);
    this.timer.unref();
  }

  publish(weights: string): Promise<void> {
    return this.inTurn(async () => {
      const version = await this.export(weights);
      try {
        const failures = [...(await this.revive()), ...(await this.offer(version))];
        if (failures.length === this.routing.servers.length) {
          throw new SamplerError('server', `no server can sample ${version.name}: ${failures.join('; ')}`);
        }
        this.versions.set(weights, version);
      } catch (error) {
        await this.remove(version);
        throw error;
      }
    });
  }

  async sample(request: SamplerRequest): Promise<SampleResult> {
    const version = this.versions.get(request.model);
    if (version === undefined) {
      throw new SamplerError('request', `there are no published weights "${request.model}"`);
    }
    mustBePlain(request);
    version.users += 1;
    try {
      const ask = await this.askOf(request, version);
      const { tokens, logprobs, stopReason } = await this.answer(request, ask, version);
      return { tokens, logprobs, stopReason, digest: version.digest };
    } finally {
      version.users -= 1;
      if (version.retired && version.users === 0) this.leave(version);
    }
  }

  retire(weights: string): Promise<void> {
    const version = this.versions.get(weights);
    if (version !== undefined) {
      version.retired = true;
      this.versions.delete(weights);
      if (version.users === 0) this.leave(version);
    }
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    clearInterval(this.timer);
    await this.changing;
    for (const weights of [...this.versions.keys()]) await this.retire(weights);
    await Promise.all(this.leaving);
  }

  /** Writes weights to the servers' folder, and records the engine's probe scores with them. */
  private async export(weights: string): Promise<Version> {
    const { engine, sharedDir, runId } = this.context;
    await mkdir(sharedDir, { recursive: true });
    this.exported += 1;
    const written = join(sharedDir, `.${runId}-${this.exported}`);
    const { digest, isBase } = await engine.exportWeights({ name: weights, dir: written });
    const name = adapterName(runId, weights, digest);
    const dir = join(sharedDir, name);
    await rm(dir, { recursive: true, force: true });
    if (!isBase) await rename(written, dir);
    const path = join(this.options.adapters_path ?? sharedDir, name);
    const scores = await scoresByEngine(engine, weights, this.probes);
    return { weights, name, path, digest, isBase, dir, scores, users: 0, retired: false };
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.changing.then(work);
    this.changing = result.catch(() => undefined);
    return result;
  }

  /**
   * Makes servers load a version and prove that they sample it; returns descriptions of those that failed.
   * Unreachable servers get it when they are back.
   */
  private async offer(version: Version): Promise<string[]> {
    const servers = this.routing.servers.filter(({ isUp }) => isUp);
    const outcomes = await Promise.allSettled(servers.map((server) => this.bring(server, version)));
    const failed = outcomes.flatMap((outcome, index) =>
      outcome.status === 'rejected' ? [{ server: servers[index], error: outcome.reason as Error }] : [],
    );
    const fault = failed.find(({ error }) => !(error instanceof ServerFailure));
    if (fault !== undefined) throw fault.error;
    for (const { server, error } of failed) {
      server.lose();
      this.context.log('warn', `${server.address} is left out until it can be used again: ${error.message}`);
    }
    return failed.map(({ error }) => error.message);
  }

  private async bring(server: Server, version: Version): Promise<void> {
    const { engine } = this.context;
    this.baseScores ??= scoresByEngine(engine, 'base', this.probes).catch((error: unknown) => {
      this.baseScores = undefined;
      throw error;
    });
    const base = await this.baseScores;
    if (!version.isBase) await this.protocol.load(server.connection, version);
    await prove(this.protocol, server, version, {
      ...{ probes: this.probes, base, tolerance: this.options.probe_tolerance },
    });
  }

  private async askOf(request: SamplerRequest, { name, isBase }: Version): Promise<Ask> {
    const { prompt, maxTokens, temperature, topP, seed, stop = [], conversation } = request;
    const read = promptOf(prompt.chunks, this.context.imageTokenId);
    const hashes = [...new Set(read.images.map(({ sha256 }) => sha256))];
    const urls = await Promise.all(
      hashes.map(async (sha256) => [sha256, await this.dataUrl(sha256)] as const),
    );
    const ask = { ...read, maxTokens, temperature, topP, seed, stop, conversation };
    return { ...ask, adapter: isBase ? undefined : name, dataUrls: new Map(urls) };
  }

  private async dataUrl(sha256: string): Promise<string> {
    const png = await this.context.fetchImage(sha256);
    if (png !== null) return `data:image/png;base64,${Buffer.from(png).toString('base64')}`;
    throw new SamplerError('request', `the image ${sha256} of a prompt is nowhere to be had`);
  }

  /** One answer. A failed or late request is aborted before the next attempt. */
  private async answer(request: SamplerRequest, ask: Ask, version: Version): Promise<Answer> {
    const avoided = new Set<Server>();
    const attempt = async (): Promise<Answer> => {
      const server = this.routing.pick(version.name, request.episode, avoided);
      if (server === undefined) throw this.noServer(version);
      try {
        return await this.answerOf(server, request, ask, version);
      } catch (error) {
        avoided.add(server);
        this.note(server, error);
        throw error;
      }
    };
    return retry(RETRIES.outsideSampler, attempt, {
      signal: AbortSignal.any([
        this.stopping.signal,
        ...(request.signal === undefined ? [] : [request.signal]),
      ]),
      isTransient: (error) => error instanceof ServerFailure,
    });
  }

  private async answerOf(
    server: Server,
    request: SamplerRequest,
    ask: Ask,
    version: Version,
  ): Promise<Answer> {
    server.inFlight += 1;
    server.taken += 1;
    try {
      const headers = routingOf(this.options, request);
      const connection = { ...server.connection, headers, signal: request.signal };
      const answer = await this.protocol.sample(connection, ask);
      mustBeSamePrompt(ask.promptTokens, answer.promptTokens, server.address);
      mustBeWhole(answer, ask, server.address);
      if (request.topP === 1) await this.mustAgree(server, request, answer, version);
      return answer;
    } finally {
      server.inFlight -= 1;
    }
  }

  /**
   * The engine also scores the first answer of a version at a temperature: it includes images, which probes do not.
   */
  private async mustAgree(
    server: Server,
    request: SamplerRequest,
    answer: Answer,
    version: Version,
  ): Promise<void> {
    const key = `${version.name} ${request.temperature}`;
    const begun = server.agreed.get(key);
    if (begun !== undefined && (await begun.then(() => true).catch(() => false))) return;
    const check = this.compareAnswer(server, request, answer, version);
    server.agreed.set(key, check);
    check.catch(() => (server.agreed.get(key) === check ? server.agreed.delete(key) : false));
    await check;
  }

  private async compareAnswer(
    { address }: Server,
    { prompt, temperature }: SamplerRequest,
    { tokens, logprobs }: Answer,
    { weights, name }: Version,
  ): Promise<void> {
    const { engine } = this.context;
    const { probe_tolerance: tolerance } = this.options;
    const scored = (model: string, at: number): Promise<number[]> =>
      answerByEngine(engine, model, { prompt, tokens, temperature: at });
    const difference = meanDifference(logprobs, await scored(weights, temperature));
    if (difference <= tolerance) return;
    const found = `${address} sampled an answer with ${name} whose log-probabilities differ from the engine's by ${digits(difference)} on average (tolerance ${tolerance})`;
    const isRaw = temperature !== 1 && meanDifference(logprobs, await scored(weights, 1)) <= tolerance;
    if (isRaw) {
      throw new SamplerError(
        'adapter',
        `${found}: they are those before temperature ${temperature}; start vLLM with --logprobs-mode processed_logprobs, SGLang without SGLANG_RETURN_ORIGINAL_LOGPROB`,
      );
    }
    const isBase = meanDifference(logprobs, await scored('base', temperature)) <= tolerance;
    throw new SamplerError(
      'adapter',
      isBase
        ? `${found}: they are those of the base model, the adapter is not what is sampled`
        : `${found}: images, or the adapter on the layers that read them, do not reach its model as they reach the engine's`,
    );
  }

  private note(server: Server, error: unknown): void {
    if (!(error instanceof ServerFailure)) return;
    const hasForgotten = error.status === 404;
    if (!error.isGone && !hasForgotten) return;
    if (server.isUp) this.context.log('warn', `${error.message}; other servers are asked until it is back`);
    server.lose();
  }

  private noServer({ name }: Version): ServerFailure {
    const states = this.routing.servers.map(
      ({ address, isUp }) => `${address} ${isUp ? 'does not have it' : 'is away'}`,
    );
    return new ServerFailure(`no server can sample ${name} now: ${states.join(', ')}`, undefined);
  }

  private async recheck(): Promise<void> {
    if (this.rechecking || this.routing.servers.every(({ isUp }) => isUp)) return;
    this.rechecking = true;
    await this.inTurn(() => this.revive());
    this.rechecking = false;
  }

  /** Revives excluded servers; returns descriptions of those that fail. */
  private async revive(): Promise<string[]> {
    const lost = this.routing.servers.filter(({ isUp }) => !isUp);
    if (this.stopping.signal.aborted) return [];
    const failures = await Promise.all(lost.map((server) => this.reviveOne(server)));
    return failures.filter((failure) => failure !== undefined);
  }

  private async reviveOne(server: Server): Promise<string | undefined> {
    try {
      await this.protocol.ready(quick(server.connection));
      for (const version of [...this.versions.values()]) await this.bring(server, version);
      server.isUp = true;
      this.context.log('info', `${server.address} is asked again`);
      return undefined;
    } catch (error) {
      const { message } = error as Error;
      server.lose();
      const level = error instanceof ServerFailure ? 'debug' : 'error';
      this.context.log(level, `${server.address} stays left out: ${message}`);
      return message;
    }
  }

  private leave(version: Version): void {
    const removal = this.remove(version).finally(() => this.leaving.delete(removal));
    this.leaving.add(removal);
  }

  /** On failure, a name stays registered that is never reused. */
  private async remove(version: Version): Promise<void> {
    const forget = async (server: Server): Promise<void> => {
      server.proven.delete(version.name);
      if (!server.isUp || version.isBase) return;
      await this.protocol.unload(quick(server.connection), version);
    };
    const work = [
      ...this.routing.servers.map(forget),
      rm(version.dir, { recursive: true, force: true }),
      this.context.engine.releaseWeights(version.weights),
    ];
    for (const outcome of await Promise.allSettled(work)) {
      if (outcome.status === 'fulfilled') continue;
      this.context.log(
        'debug',
        `${version.name} was not removed everywhere: ${(outcome.reason as Error).message}`,
      );
    }
  }
}

/** Servers do not report which tokens top-k or a grammar kept, so the answer could not be trained on. */
function mustBePlain({ topK = 0, grammar }: SamplerRequest): void {
  if (topK === 0 && grammar === undefined) return;
  const asked = grammar === undefined ? `top_k ${topK}` : 'constrained actions';
  throw new SamplerError(
    'request',
    `${asked} cannot be had from servers outside; the sampler engine has them`,
  );
}

/** Headers that tell a router in front of the servers to which episode a request belongs. */
function routingOf(
  { routing_header: name }: ServerOptions,
  { episode }: SamplerRequest,
): Record<string, string> | undefined {
  return name === undefined || episode === undefined ? undefined : { [name]: episode };
}

function quick(connection: Connection): Connection {
  return { ...connection, timeoutMs: Math.min(QUICK_MS, connection.timeoutMs) };
}

/** A name unique to the weights: servers cache results by name. */
function adapterName(runId: string, weights: string, digest: string): string {
  const [, step, load] = /(\d{6})(?:#(\d+))?$/.exec(weights) ?? [];
  const part = step ?? weights.replaceAll(/[^A-Za-z0-9]+/g, '-');
  return `uirl-${runId}-${part}-${digest.slice(0, 8)}${load === undefined ? '' : `-${load}`}`;
}

function mustBeWhole({ tokens, logprobs }: Answer, { maxTokens }: Ask, address: string): void {
  const isWhole = tokens.length > 0 && tokens.length <= maxTokens && tokens.length === logprobs.length;
  if (isWhole) return;
  throw new SamplerError(
    'server',
    `${address} answered ${tokens.length} tokens with ${logprobs.length} log-probabilities; expected as many of each, at least 1 and at most ${maxTokens}`,
  );
}

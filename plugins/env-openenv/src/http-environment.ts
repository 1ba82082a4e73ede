import { randomUUID } from 'node:crypto';
import {
  OutsideError,
  parseJson,
  shownAnswer,
  type OutsideServer,
  type ServerAnswer,
} from '@ui-rl/plugin-kit';
import { readObserved, recordOf, type Observed, type RemoteEnvironment } from './remote';

/**
 * Uses `/reset`, `/step` and `/state` of servers that keep an environment between requests. The protocol does not
 * identify the environment: `episode_id` is sent with each request, and servers with a single environment ignore it.
 */
export class HttpEnvironment implements RemoteEnvironment {
  private readonly episodeId = randomUUID();

  constructor(private readonly server: OutsideServer) {}

  async reset(seed: number, options: Record<string, unknown>, signal: AbortSignal): Promise<Observed> {
    const body = { ...options, seed, episode_id: this.episodeId };
    const observed = readObserved(
      await this.server.getJson('/reset', { method: 'POST', body, signal }),
      this.server.address,
    );
    await this.refuseForgetful(signal);
    return observed;
  }

  async step(action: Record<string, unknown>, signal: AbortSignal): Promise<Observed | null> {
    const body = { action, episode_id: this.episodeId };
    const answer = await this.server.ask('/step', { method: 'POST', body, signal });
    if (answer.status === 400 || answer.status === 422) return null;
    return readObserved(this.json(answer, '/step'), this.server.address);
  }

  async state(signal: AbortSignal): Promise<Record<string, unknown>> {
    const query = { episode_id: this.episodeId };
    return recordOf(await this.server.getJson('/state', { query, signal }), this.server.address);
  }

  /** The protocol has no close request: the server ends idle environments. */
  async close(): Promise<void> {}

  private json(answer: ServerAnswer, path: string): unknown {
    const from = this.server.address + path;
    if (answer.status === 200) return parseJson(answer.bytes.toString(), from);
    const isFull = answer.status === 429 || answer.status === 503;
    throw new OutsideError(isFull ? 'capacity' : 'crashed', `${from} answered ${shownAnswer(answer)}`);
  }

  /** OpenEnv's own server creates an environment per request, so a step would not see the preceding reset. */
  private async refuseForgetful(signal: AbortSignal): Promise<void> {
    const first = await this.state(signal);
    const second = await this.state(signal);
    if (first.episode_id === second.episode_id) return;
    throw new OutsideError(
      'bad_task',
      `${this.server.address} makes a new environment for each request over HTTP: use transport: websocket`,
    );
  }
}

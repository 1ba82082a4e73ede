import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import {
  PluginError,
  startThread,
  type Deadline,
  type Episode,
  type Log,
  type Observation,
  type ParseResult,
  type PluginErrorCategory,
  type RewardResult,
  type ScreenSizes,
} from '@ui-rl/plugin-kit';
import { DEADLINES } from '@ui-rl/retry';
import {
  observationsOf,
  withoutScreenshots,
  type FromThread,
  type Question,
  type ThreadData,
  type ToThread,
} from './messages';

export interface IsolationLimits {
  /** Time for a cancelled call to end, in ms. */
  graceMs: number;
  /** A thread that exceeds it is terminated. */
  maxHeapMb: number;
}

const LIMITS: IsolationLimits = { graceMs: DEADLINES.pluginThread.ms, maxHeapMb: 1024 };

interface Call {
  id: number;
  question: Question;
  deadlineAt: number;
  /** Screenshots that it may request. */
  observations: ReadonlyMap<string, Observation>;
  /** Whether it was already attempted in a thread that another call brought down. */
  isRepeated: boolean;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/**
 * A reward, verifier or action format from a plugin, in a separate thread: one that blocks, exits or exhausts memory
 * ends only its thread and its own calls, not the service.
 */
export class IsolatedComponent {
  private readonly calls = new Map<number, Call>();
  private worker: Promise<Worker> | undefined;
  private lastCall = 0;
  private closed = false;

  private constructor(
    private readonly data: ThreadData,
    private readonly log: Log,
    private readonly limits: IsolationLimits,
  ) {}

  /** @throws PluginError if it cannot be created */
  static async start(
    data: ThreadData,
    log: Log,
    limits: IsolationLimits = LIMITS,
  ): Promise<IsolatedComponent> {
    const component = new IsolatedComponent(data, log, limits);
    await component.thread();
    return component;
  }

  /** For a reward. Rejects with its error; ends soon after the signal aborts, even if the plugin ignores it. */
  score(episode: Episode, deadline: Deadline): Promise<RewardResult> {
    return this.judge('score', episode, deadline) as Promise<RewardResult>;
  }

  /** For a verifier. */
  verify(episode: Episode, deadline: Deadline): Promise<boolean | null> {
    return this.judge('verify', episode, deadline) as Promise<boolean | null>;
  }

  /** For an action format. */
  describe(sizes: ScreenSizes, deadline: Deadline): Promise<string> {
    return this.call({ method: 'describe', sizes }, deadline) as Promise<string>;
  }

  /** For an action format. Undefined if it has none. */
  grammar(sizes: ScreenSizes, deadline: Deadline): Promise<string | undefined> {
    return this.call({ method: 'grammar', sizes }, deadline) as Promise<string | undefined>;
  }

  /** For an action format. */
  parse(text: string, sizes: ScreenSizes, deadline: Deadline): Promise<ParseResult> {
    return this.call({ method: 'parse', text, sizes }, deadline) as Promise<ParseResult>;
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.endThread(new Error('the run is over'));
  }

  private judge(method: 'score' | 'verify', episode: Episode, deadline: Deadline): Promise<unknown> {
    return this.call({ method, episode: withoutScreenshots(episode) }, deadline, observationsOf(episode));
  }

  private async call(
    question: Question,
    { deadlineAt, signal }: Deadline,
    observations: Call['observations'] = new Map(),
  ): Promise<unknown> {
    this.lastCall += 1;
    const id = this.lastCall;
    const stop = (): void => this.abort(id);
    try {
      return await new Promise<unknown>((resolve, reject) => {
        this.calls.set(id, { id, question, deadlineAt, observations, isRepeated: false, resolve, reject });
        signal.addEventListener('abort', stop, { once: true });
        void this.send(id);
      });
    } finally {
      signal.removeEventListener('abort', stop);
      this.calls.delete(id);
    }
  }

  private async send(id: number): Promise<void> {
    const call = this.calls.get(id);
    if (call === undefined) return;
    try {
      const { question, deadlineAt } = call;
      (await this.thread()).postMessage({ type: 'call', id, question, deadlineAt } satisfies ToThread);
    } catch (error) {
      call.reject(error as Error);
    }
  }

  /** Asks the plugin to end a call, and terminates a thread that does not respond. */
  private abort(id: number): void {
    void this.worker?.then(
      (worker) => worker.postMessage({ type: 'abort', id } satisfies ToThread),
      // The start failed; its calls receive the error.
      () => undefined,
    );
    setTimeout(() => {
      if (!this.calls.has(id)) return;
      this.calls.get(id)?.reject(new Error('it did not end when its time was over'));
      this.calls.delete(id);
      void this.endThread();
    }, this.limits.graceMs);
  }

  /** @param error for its calls; without it, they are repeated in another thread */
  private async endThread(error?: Error): Promise<void> {
    const { worker } = this;
    this.worker = undefined;
    for (const call of this.calls.values()) {
      if (error !== undefined || call.isRepeated)
        call.reject(error ?? new Error('its thread was ended twice'));
      else void this.repeat(call);
    }
    await worker?.then(
      (ended) => ended.terminate(),
      () => undefined,
    );
  }

  private repeat(call: Call): Promise<void> {
    call.isRepeated = true;
    return this.send(call.id);
  }

  private thread(): Promise<Worker> {
    if (this.closed) throw new Error('the run is over');
    this.worker ??= this.startThread();
    return this.worker;
  }

  private startThread(): Promise<Worker> {
    const { data } = this;
    const worker = startThread(join(__dirname, 'component-thread'), {
      name: `${data.kind} ${data.choice.name}`,
      workerData: data,
      resourceLimits: { maxOldGenerationSizeMb: this.limits.maxHeapMb },
    });
    const started = new Promise<Worker>((resolve, reject) => {
      worker.on('message', (message: FromThread) => {
        if (message.type === 'ready') resolve(worker);
        else if (message.type === 'refused') reject(refusal(message));
        else this.receive(worker, message);
      });
      worker.on('error', reject);
      worker.on('exit', (code) => reject(new Error(`its thread ended with code ${code}`)));
    });
    const end = (error: Error): void => {
      // Otherwise this class terminated it.
      if (this.worker === started) void this.endThread(error);
    };
    worker.on('error', (error) => end(new Error(`its thread failed: ${error.message}`, { cause: error })));
    worker.on('exit', (code) => end(new Error(`its thread ended with code ${code}`)));
    started.catch(() => {
      if (this.worker === started) this.worker = undefined;
      void worker.terminate();
    });
    return started;
  }

  private receive(worker: Worker, message: FromThread): void {
    switch (message.type) {
      case 'result':
        this.calls.get(message.id)?.resolve(message.value);
        break;
      case 'failed':
        this.calls.get(message.id)?.reject(new Error(message.message));
        break;
      case 'wants':
        void this.fetch(worker, message);
        break;
      case 'log':
        this.log(message.level, message.message);
        break;
    }
  }

  private async fetch(
    worker: Worker,
    { id, call, sha256 }: Extract<FromThread, { type: 'wants' }>,
  ): Promise<void> {
    const answer = (given: { png: Uint8Array } | { error: string }): void =>
      worker.postMessage({ type: 'png', id, ...given } satisfies ToThread);
    try {
      const observation = this.calls.get(call)?.observations.get(sha256);
      if (observation === undefined) throw new Error(`the episode has no screenshot ${sha256}`);
      answer({ png: await observation.png() });
    } catch (error) {
      answer({ error: (error as Error).message });
    }
  }
}

function refusal({ category, message }: Extract<FromThread, { type: 'refused' }>): Error {
  return category === undefined
    ? new Error(message)
    : new PluginError(category as PluginErrorCategory, message);
}

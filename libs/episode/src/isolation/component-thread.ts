/** Entry point of a thread that runs one plugin component. */
import '@ui-rl/code-cache';
import { parentPort, workerData } from 'node:worker_threads';
import {
  loadComponents,
  PluginError,
  type Deadline,
  type Dialect,
  type Log,
  type Reward,
  type RewardContext,
  type Verifier,
} from '@ui-rl/plugin-kit';
import { withScreenshots, type FromThread, type Question, type ThreadData, type ToThread } from './messages';

const port = parentPort;
if (port === null) throw new Error('component-thread is the entry of a thread: see IsolatedComponent.start');

const send = (message: FromThread): void => port.postMessage(message);
const log: Log = (level, message) => send({ type: 'log', level, message });

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

interface WantedPng {
  resolve(png: Uint8Array): void;
  reject(error: Error): void;
}

class ComponentServer {
  private readonly calls = new Map<number, AbortController>();
  private readonly wanted = new Map<number, WantedPng>();
  private lastWanted = 0;

  constructor(private readonly instance: Reward & Verifier & Dialect) {}

  receive(message: ToThread): void {
    if (message.type === 'abort') this.calls.get(message.id)?.abort();
    if (message.type === 'png') this.deliver(message);
    if (message.type === 'call') {
      const { id, question, deadlineAt } = message;
      this.call(id, question, deadlineAt).then(
        (value) => this.answer(id, value),
        (error: unknown) => send({ type: 'failed', id, message: messageOf(error) }),
      );
    }
  }

  private async call(id: number, question: Question, deadlineAt: number): Promise<unknown> {
    const abort = new AbortController();
    this.calls.set(id, abort);
    try {
      return await this.ask(id, question, { deadlineAt, signal: abort.signal });
    } finally {
      this.calls.delete(id);
    }
  }

  private ask(id: number, question: Question, deadline: Deadline): unknown {
    const { instance } = this;
    switch (question.method) {
      case 'describe':
        return instance.describe(question.sizes);
      case 'grammar':
        return instance.grammar?.(question.sizes);
      case 'parse':
        return instance.parse(question.text, question.sizes);
      case 'score':
      case 'verify':
        return this.judge(id, question, deadline);
    }
  }

  private judge(
    id: number,
    question: Extract<Question, { method: 'score' | 'verify' }>,
    deadline: Deadline,
  ): unknown {
    const { instance } = this;
    const episode = withScreenshots(question.episode, (sha256) => this.want(id, sha256));
    return question.method === 'score'
      ? instance.score(episode, deadline)
      : instance.verify(episode, deadline);
  }

  /** A result that cannot be serialized is the plugin's failure. */
  private answer(id: number, value: unknown): void {
    try {
      send({ type: 'result', id, value });
    } catch (error) {
      send({ type: 'failed', id, message: `its result cannot be sent: ${messageOf(error)}` });
    }
  }

  private want(call: number, sha256: string): Promise<Uint8Array> {
    this.lastWanted += 1;
    const id = this.lastWanted;
    return new Promise((resolve, reject) => {
      this.wanted.set(id, { resolve, reject });
      send({ type: 'wants', id, call, sha256 });
    });
  }

  private deliver({
    id,
    png,
    error = 'the screenshot cannot be had',
  }: Extract<ToThread, { type: 'png' }>): void {
    const wanted = this.wanted.get(id);
    this.wanted.delete(id);
    if (png === undefined) wanted?.reject(new Error(error));
    else wanted?.resolve(png);
  }
}

async function start({ file, kind, choice, environment = {} }: ThreadData): Promise<void> {
  const components = await loadComponents({ packages: [file], builtin: null });
  const context: RewardContext = {
    log,
    environment,
    // Only components of the same module: others run in separate threads.
    reward: async (other) => components.create('reward', other, context),
  };
  const instance: unknown = await components.create(kind as 'reward', choice, context);
  const server = new ComponentServer(instance as Reward & Verifier & Dialect);
  port?.on('message', (message: ToThread) => server.receive(message));
  send({ type: 'ready' });
}

start(workerData as ThreadData).catch((error: unknown) => {
  const category = error instanceof PluginError ? error.category : undefined;
  send({ type: 'refused', category, message: messageOf(error) });
});

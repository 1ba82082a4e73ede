import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManagedProcess, serviceProgram, startLocalNats, type LocalNats } from '@ui-rl/api';
import { BusService, isUnanswered } from '@ui-rl/bus';
import { subjects, type EnvOpenReply, type EnvStepReply, type Task } from '@ui-rl/contracts';
import { RETRIES, retry } from '@ui-rl/retry';
import { readCliSettings } from '@ui-rl/settings';
import { PluginPages, phoneTask, valueOf } from './environment';
import { median, peakRssOf, timed } from './measure';
import type { BenchOptions, PartResult } from './parts';
import { tapPointOf } from './tap-points';

const RUN = 'bench';
const DEADLINE_MS = 30_000;
const START_TIMEOUT_MS = 60_000;

/**
 * Cost of a step in addition to the browser: the median round trip of env.step over a real broker to a real env
 * service, minus the median of the same steps on the environment directly, in alternation. `replay` is the round trip
 * of a step that is answered from the cache, including the screenshot.
 */
export async function benchMessages({ quick, onProgress }: BenchOptions): Promise<PartResult> {
  const task = await phoneTask();
  const services = await Services.start();
  try {
    const session = await services.openSession(task);
    const direct = await PluginPages.open(task, 1);
    try {
      const figures = await measure(session, direct, quick ? 60 : 400);
      onProgress(
        `message overhead: ${figures.overheadMs.toFixed(2)} ms per step (${figures.overBusMs.toFixed(2)} ms over the bus, ` +
          `${figures.directMs.toFixed(2)} ms directly; a step answered from memory: ${figures.replayMs.toFixed(2)} ms)`,
      );
      return {
        ratios: { step_overhead_ms: figures.overheadMs },
        details: { ...figures },
        peakRssBytes: services.peakRss(),
      };
    } finally {
      await direct.close();
    }
  } finally {
    await services.stop();
  }
}

interface MessageFigures {
  overheadMs: number;
  overBusMs: number;
  directMs: number;
  replayMs: number;
}

async function measure(session: BusSession, direct: PluginPages, steps: number): Promise<MessageFigures> {
  const [overBus, directly, replayed]: number[][] = [[], [], []];
  for (let index = 0; index < steps; index += 1) {
    overBus.push(await timed(() => session.step(index)));
    directly.push(await timed(() => direct.step(0, index)));
    replayed.push(await timed(() => session.step(index)));
  }
  const [overBusMs, directMs, replayMs] = [overBus, directly, replayed].map(median);
  return { overheadMs: overBusMs - directMs, overBusMs, directMs, replayMs };
}

/** A session of an env service, with requests like an actor's. */
class BusSession {
  constructor(
    private readonly bus: BusService,
    private readonly opened: EnvOpenReply,
  ) {}

  /** A repeated index is answered from the service's cache of replies. */
  async step(index: number): Promise<void> {
    const { sessionId, instance, screenshot } = this.opened;
    const action = { action: 'click', ...tapPointOf(index, screenshot) };
    const request = { sessionId, stepId: `step-${index}`, action, deadlineMs: DEADLINE_MS };
    valueOf(await this.bus.request<EnvStepReply>(subjects.envStep(instance), request, DEADLINE_MS));
  }
}

/** A private broker and an env service with a run. */
class Services {
  private constructor(
    private readonly dir: string,
    private readonly nats: LocalNats,
    private readonly env: ManagedProcess,
    private readonly bus: BusService,
  ) {}

  static async start(): Promise<Services> {
    const settings = readCliSettings();
    const dir = await mkdtemp(join(tmpdir(), 'ui-rl-bench-'));
    const trouble = (message: string): void => console.error(message);
    const log = (name: string): string => join(dir, `${name}.log`);
    const nats = await startLocalNats(settings.natsServer, join(dir, 'nats'), log('nats-server'), trouble, {
      temporaryDir: dir,
    });
    const env = new ManagedProcess(
      {
        name: 'env',
        command: process.execPath,
        args: [serviceProgram('env')],
        env: settings.environmentWith({ ...nats.env, UIRL_RUN: undefined }),
        logFile: log('env'),
      },
      trouble,
    );
    env.start();
    const bus = await BusService.connect({ service: 'bench', ...nats.connection });
    const config = {
      model: { name: 'none' },
      tasks: { source_type: 'demo_training' },
      environment: { max_sessions: 1 },
      training: { max_steps: 1 },
    };
    await bus.runs.create({ runId: RUN, createdAt: new Date().toISOString(), config });
    return new Services(dir, nats, env, bus);
  }

  async openSession(task: Task): Promise<BusSession> {
    const request = {
      runId: RUN,
      rolloutId: 'bench',
      task,
      seed: 0,
      leaseMs: 600_000,
      deadlineMs: DEADLINE_MS,
    };
    const open = () => this.bus.request<EnvOpenReply>(subjects.envOpen('browser'), request, DEADLINE_MS);
    const options = { until: performance.now() + START_TIMEOUT_MS, isTransientResult: isUnanswered };
    return new BusSession(this.bus, valueOf(await retry(RETRIES.request, open, options)));
  }

  peakRss(): Record<string, number> {
    return {
      message_env_service: peakRssOf(this.env.pid),
      message_nats_server: peakRssOf(this.nats.process.pid),
    };
  }

  async stop(): Promise<void> {
    await this.bus.close();
    await this.env.stop();
    await this.nats.stop();
    await rm(this.dir, { recursive: true, force: true });
  }
}

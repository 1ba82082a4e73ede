import { join, resolve } from 'node:path';
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { jsonDialect } from '@ui-rl/actions';
import { loadPromptFolder, makeRenderer } from '@ui-rl/models';
import { essentials, eventually, freePort, Launched } from '@ui-rl/testkit';
import { TestFleet } from '../e2e/support/fleet';
import type { Setting } from './report';

const ROOT = resolve(__dirname, '../..');
const RUNNER = join(ROOT, 'libs/testkit/run-ts.cjs');
const COMPONENTS = join(__dirname, 'simulated.cjs');
/** Actors per process: its event loop is then as busy as that of one service with as many concurrent episodes. */
const PER_PROCESS = 125;
const START_MS = { base: 60_000, actor: 1_000 };
/** Factor for the training time of a slow learner. */
const SLOWER = 20;

/** A fleet whose actors share a few processes. */
export class LoadFleet {
  private constructor(
    readonly fleet: TestFleet,
    readonly jsm: JetStreamManager,
    /** Address of the broker's monitoring endpoint. */
    readonly monitoring: string,
    private readonly hosts: readonly Launched[],
  ) {}

  static async start(actors: number, say: (line: string) => void): Promise<LoadFleet> {
    const port = await freePort();
    const fleet = await TestFleet.start({
      database: 'postgres',
      copies: { actor: 0 },
      plugins: [COMPONENTS],
      broker: { config: `http: "127.0.0.1:${port}"` },
    });
    const hosts: Launched[] = [];
    try {
      for (let left = actors; left > 0; left -= PER_PROCESS) {
        hosts.push(startActors(fleet, Math.min(PER_PROCESS, left), hosts.length));
      }
      const jsm = await jetstreamManager(fleet.bus.connection);
      const load = new LoadFleet(fleet, jsm, `http://127.0.0.1:${port}`, hosts);
      await load.actorsAreThere(START_MS.base + actors * START_MS.actor, say);
      return load;
    } catch (error) {
      await Promise.all(hosts.map((host) => host.kill()));
      await fleet.stop();
      throw error;
    }
  }

  /** Processes of actors. */
  get actorPids(): number[] {
    return this.hosts.map(({ pid }) => pid);
  }

  /** Processes that ended unexpectedly. */
  get unexpectedEnds(): string[] {
    const ended = this.hosts.filter(({ running }) => !running).map(({ output }) => output.slice(-2_000));
    return [...this.fleet.unexpectedEnds, ...ended.map((output) => `a process of actors ended: ${output}`)];
  }

  async createRun(runId: string, setting: Setting): Promise<void> {
    const config = runFile(setting, await answerOf(this.fleet.modelDir));
    await this.fleet.bus.runs.create({ runId, createdAt: new Date().toISOString(), config });
  }

  /** Actors need no cleanup. */
  async stop(): Promise<void> {
    await Promise.all(this.hosts.map((host) => host.kill()));
    await this.fleet.stop();
  }

  private async actorsAreThere(timeoutMs: number, say: (line: string) => void): Promise<void> {
    for (const [index, host] of this.hosts.entries()) {
      const settled = () => !host.running || host.output.includes('all actors are there');
      await eventually(`process ${index + 1} of actors`, settled, timeoutMs, 200);
      if (!host.running) throw new Error(`a process of actors ended: ${host.output.slice(-2_000)}`);
      say(`process ${index + 1} of ${this.hosts.length} has its actors`);
    }
  }
}

function startActors(fleet: TestFleet, count: number, index: number): Launched {
  const env = {
    ...essentials(),
    NATS_URL: fleet.nats.url,
    UIRL_PLUGINS: fleet.plugins.join(','),
    UIRL_CACHE_DIR: join(fleet.folder, `cache-actors-${index}`),
    TMPDIR: join(fleet.folder, 'tmp'),
  };
  const args = [RUNNER, join(__dirname, 'actors.main.ts'), String(count)];
  return Launched.start(process.execPath, args, { cwd: ROOT, env });
}

/** Tokens of an answer that the action format can parse. */
async function answerOf(modelDir: string): Promise<number[]> {
  const folder = await loadPromptFolder(modelDir);
  const size = { width: 160, height: 224 };
  const sizes = { screenshot: size, modelImage: folder.imageProcessor.shownSize(size) };
  return makeRenderer(folder).responseIds(jsonDialect.format([{ action: 'click', x: 80, y: 80 }], sizes));
}

/**
 * Batches of half as many episodes as there are actors, two steps ahead: 1.5 times the fleet's episodes are requested
 * at a time, so that batches fill while every actor is busy.
 */
export function runFile(setting: Setting, answer: readonly number[]): Record<string, unknown> {
  const { actors, turns } = setting;
  const groupSize = actors < 10 ? 2 : 5;
  const trainMs = setting.slow === 'learner' ? setting.trainMs * SLOWER : setting.trainMs;
  return {
    model: { name: 'tiny', prompt: 'compact', lora: { rank: 4, alpha: 8 }, max_sequence: 512 },
    engine: { name: 'simulated', answer_ms: setting.answerMs, train_ms: trainMs, answer },
    environment: {
      kind: {
        name: 'simulated',
        open_ms: setting.openMs,
        step_ms: setting.stepMs,
        turns,
        screenshot_bytes: setting.screenshotBytes,
      },
      max_sessions: actors,
    },
    tasks: { source_type: 'simulated' },
    rewards: ['task-success'],
    rollout: { group_size: groupSize, concurrency: 1, max_tokens: 64, max_turns: turns + 1 },
    async: { max_steps_off_policy: 2 },
    training: {
      groups_per_batch: Math.max(1, Math.round(actors / groupSize / 2)),
      max_minutes: 600,
      eval_every: 0,
      save_every: 0,
    },
    evaluation: { episodes_per_task: 1, max_tasks: 4, sets: ['train_goals'] },
  };
}

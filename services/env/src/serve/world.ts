import { Logger } from '@nestjs/common';
import { planEpisodes, type PlannedEpisodes } from '@ui-rl/episode';
import {
  openTasks,
  PluginError,
  type ComponentRegistry,
  type LoadedTask,
  type Log,
  type Sessions,
  type TaskList,
} from '@ui-rl/plugin-kit';
import { readRunFile, taskMachine, taskUse, type RunFile } from '@ui-rl/settings';
import type { RunEnvironments } from '../run-environments';
import { ServeError } from './serve-error';

/** An invalid run id, so that it cannot collide with one. */
const SERVED = '(served)';
/** Options for a run file of which only the tasks and their environments are used. */
const ASSUMED = { 'model.name': 'small', 'training.max_steps': 1 };
const DEMO = { tasks: { source_type: 'demo_training' } };

/** The served content: tasks, their environments, and their judges. */
export class ServedWorld {
  private constructor(
    readonly run: RunFile,
    readonly tasks: readonly LoadedTask[],
    /** Task → its source. */
    private readonly sources: ReadonlyMap<LoadedTask, string>,
    private readonly planned: PlannedEpisodes,
    private readonly environments: RunEnvironments,
  ) {}

  /** Starts the environments. @throws SettingsError, PluginError and errors of the environments */
  static async open(
    file: string | undefined,
    components: ComponentRegistry,
    environments: RunEnvironments,
  ): Promise<ServedWorld> {
    const source = file === undefined ? { options: DEMO } : { file };
    const run = readRunFile({ ...source, assumed: ASSUMED }, components);
    const sources = await sourcesOf(
      await openTasks(components, run.tasks, taskMachine(components, log), taskUse(run)),
    );
    const tasks = [...sources.keys()];
    if (tasks.length === 0)
      throw new PluginError('option', `${file ?? 'the demo tasks'}: there is no task to serve`);
    const planned = await planEpisodes(run, components, log);
    try {
      await environments.start(SERVED, run.environment);
      return new ServedWorld(run, tasks, sources, planned, environments);
    } catch (error) {
      await planned.close();
      throw error;
    }
  }

  get plan(): PlannedEpisodes['plan'] {
    return this.planned.plan;
  }

  get maxSessions(): number {
    return this.run.environment.max_sessions;
  }

  /** The sessions of a task's environment. @throws ServeError */
  sessionsOf({ environment }: LoadedTask): Sessions {
    const kind = environment?.kind ?? this.run.environment.kind.name;
    const sessions = this.environments.of(SERVED, kind);
    if (sessions !== undefined) return sessions;
    throw new ServeError('failed', `the task is played in ${kind}, which this service does not offer`);
  }

  /** The session type for clients of ui-verifiers: the task's own type, else its source. */
  sessionTypeOf(task: LoadedTask): string {
    const { session_type: type } = task.environment?.options ?? {};
    return typeof type === 'string' ? type : (this.sources.get(task) ?? 'task');
  }

  async close(): Promise<void> {
    await this.environments.release(SERVED);
    await this.planned.close();
  }
}

async function sourcesOf(list: TaskList): Promise<Map<LoadedTask, string>> {
  try {
    const sources = new Map<LoadedTask, string>();
    for (const { sourceType, first, length } of list.parts) {
      for (let place = first; place < first + length; place++) sources.set(await list.at(place), sourceType);
    }
    return sources;
  } finally {
    await list.close();
  }
}

const logger = new Logger('env:served');
const log: Log = (level, message) => logger[level === 'info' ? 'log' : level](message);

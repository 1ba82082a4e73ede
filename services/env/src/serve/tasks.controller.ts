import { Body, Controller, Get, HttpCode, Inject, Param, Post } from '@nestjs/common';
import { isRecord, show, type LoadedTask } from '@ui-rl/plugin-kit';
import { ServedEpisodes } from './episodes';
import { ServeError } from './serve-error';

/** The served tasks are those on which a policy trains. */
const SPLIT = { name: 'train', type: 'train' };

/** A task for trainers: `reset` takes its `task_id`. Checks are left out, because they contain answers. */
interface TaskSpec {
  task_id: string;
  description: string;
  category: string | null;
  difficulty: string | null;
  max_steps: number | null;
}

/** OpenEnv's Task API (0.10), that of Open Reward Standard: the tasks of the served environment. */
@Controller()
export class TasksController {
  constructor(@Inject(ServedEpisodes) private readonly episodes: ServedEpisodes) {}

  /** Names of the served environments. */
  @Get('list_environments')
  environments(): string[] {
    return [this.name];
  }

  /** The splits of an environment. */
  @Get(':environment/splits')
  splits(@Param('environment') environment: string): object[] {
    this.checkName(environment);
    return [SPLIT];
  }

  /** All tasks of a split: `{split}`. */
  @Post(':environment/tasks')
  @HttpCode(200)
  list(@Param('environment') environment: string, @Body() body: unknown): object {
    return { tasks: this.tasksFor(environment, body).map(specOf), env_name: this.name };
  }

  /** The number of tasks of a split: `{split}`. */
  @Post(':environment/num_tasks')
  @HttpCode(200)
  count(@Param('environment') environment: string, @Body() body: unknown): object {
    return { num_tasks: this.tasksFor(environment, body).length };
  }

  /** One task: `{split, index}`. */
  @Post(':environment/task')
  @HttpCode(200)
  one(@Param('environment') environment: string, @Body() body: unknown): object {
    const tasks = this.tasksFor(environment, body);
    const index = wholeNumber(body, 'index');
    const task = index === undefined ? undefined : tasks.at(index);
    if (task !== undefined) return { task: specOf(task) };
    throw new ServeError('bad_request', `found ${show(index)}, expected 0 to ${tasks.length - 1}`, 'index');
  }

  /** Tasks from `start` to `stop`, as a slice in Python: `{split, start?, stop?}`. */
  @Post(':environment/task_range')
  @HttpCode(200)
  range(@Param('environment') environment: string, @Body() body: unknown): object {
    const tasks = this.tasksFor(environment, body);
    return { tasks: tasks.slice(wholeNumber(body, 'start'), wholeNumber(body, 'stop')).map(specOf) };
  }

  private get name(): string {
    return this.episodes.world.run.environment.kind.name;
  }

  private tasksFor(environment: string, body: unknown): readonly LoadedTask[] {
    this.checkName(environment);
    const split = isRecord(body) ? body.split : undefined;
    if (split === SPLIT.name) return this.episodes.world.tasks;
    throw new ServeError('bad_request', `found ${show(split)}, expected "${SPLIT.name}"`, 'split');
  }

  private checkName(environment: string): void {
    if (environment.toLowerCase() === this.name.toLowerCase()) return;
    throw new ServeError(
      'not_found',
      `there is no environment "${environment.slice(0, 100)}": there is ${this.name}`,
    );
  }
}

function specOf({ id, description, category, difficulty, maxSteps }: LoadedTask): TaskSpec {
  return {
    task_id: id,
    description,
    category: category ?? null,
    difficulty: difficulty ?? null,
    max_steps: maxSteps ?? null,
  };
}

function wholeNumber(body: unknown, field: string): number | undefined {
  const value = isRecord(body) ? (body[field] ?? undefined) : undefined;
  if (value === undefined || Number.isInteger(value)) return value as number | undefined;
  throw new ServeError('bad_request', `found ${show(value)}, expected a whole number`, field);
}

import { createHash } from 'node:crypto';
import type { Task } from '@ui-rl/contracts';
import { IsInt, IsOptional, Min } from 'class-validator';
import { PluginError } from '../errors';
import type { TaskSourceContext } from '../kinds';
import { Doc, Fits } from '../options';
import { isRecord, show } from '../show';
import { readTask } from './read-task';

/** Defaults for tasks that users write; options of their sources. */
export class TaskDefaults {
  @Doc('what tasks are played in that name no environment: {kind, options}')
  @IsOptional()
  @Fits(
    'an object with kind, the name of an environment, and its options',
    (value) =>
      isRecord(value) &&
      typeof value.kind === 'string' &&
      (value.options === undefined || isRecord(value.options)) &&
      Object.keys(value).every((key) => key === 'kind' || key === 'options'),
    (text) => JSON.parse(text) as unknown,
  )
  environment?: { kind: string; options?: Record<string, unknown> };

  @Doc('maximum turns of tasks that set none')
  @IsOptional()
  @IsInt()
  @Min(1)
  max_steps?: number;
}

const SESSION = 'session_type';
/** The environment with session types. */
const OF_SESSIONS = 'ui-verifiers';

/** Converts users' entries to tasks: sentences, and objects with the fields of a task. */
export class TaskEntries {
  constructor(
    private readonly defaults: TaskDefaults,
    private readonly context: Pick<TaskSourceContext, 'resolve' | 'environment' | 'opensByItself'>,
  ) {}

  /** @throws PluginError `option` with the position and the fault */
  read(entry: unknown, where: string): Task {
    if (typeof entry === 'string') return this.fromSentence(entry, where);
    const task = readTask(isRecord(entry) ? this.withSession(entry, where) : entry, where);
    if (task.id === undefined) task.id = idOf(task.description);
    return this.completed(task);
  }

  private fromSentence(sentence: string, where: string): Task {
    const description = sentence.trim();
    const { resolve, environment, opensByItself = false } = this.context;
    const known = resolve(description);
    // A source's sentence refers to the source's own environment, which may differ from the run's.
    const isMeant = !opensByItself || known?.environment?.kind === environment;
    if (known !== null && isMeant) return known;
    if (this.defaults.environment === undefined && !opensByItself) {
      throw new PluginError(
        'option',
        `tasks: ${where} is ${show(description)}, which no task source understands, such as "Turn on Bluetooth": name the environment that it is played in ` +
          '(environment of the run file, such as --environment.kind gbox; or option environment of the source), or write the whole task',
      );
    }
    return { ...this.completed(readTask({ description }, where)), id: idOf(description) };
  }

  /** UI-RL's tasks state their session type, which is an option of their environment. */
  private withSession(entry: Record<string, unknown>, where: string): Record<string, unknown> {
    if (!Object.hasOwn(entry, SESSION)) return entry;
    const { [SESSION]: type, ...rest } = entry;
    const environment = entry.environment ?? this.defaults.environment ?? this.sessionsOfRun;
    const options = isRecord(environment) ? (environment.options ?? {}) : undefined;
    if (isRecord(environment) && isRecord(options) && !Object.hasOwn(options, SESSION))
      return { ...rest, environment: { ...environment, options: { ...options, [SESSION]: type } } };
    throw new PluginError(
      'option',
      options === undefined
        ? `tasks: ${where}: ${SESSION} is ${show(type)}, an option of the environment, but ${this.playedIn}: write environment: {kind: ui-verifiers} beside the source, or into the task`
        : `tasks: ${where}: ${SESSION} is ${show(type)}, but environment.options is ${show(options)}`,
    );
  }

  /** The environment of the run, if it has sessions. */
  private get sessionsOfRun(): TaskDefaults['environment'] {
    return this.context.environment === OF_SESSIONS ? { kind: OF_SESSIONS } : undefined;
  }

  private get playedIn(): string {
    const { environment } = this.context;
    return environment === undefined ? 'none is named' : `the run plays in ${environment}, which has none`;
  }

  private completed(task: Task): Task {
    const { environment, max_steps: maxSteps } = this.defaults;
    if (environment === undefined && maxSteps === undefined) return task;
    return {
      ...(environment === undefined ? {} : { environment: { options: {}, ...environment } }),
      maxSteps,
      ...task,
    };
  }
}

/** The same for the same words: `open_the_cart`. */
export function idOf(description: string): string {
  const words = description
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_|_$/g, '');
  const isWhole = words.length <= 60 && /^[\x20-\x7e]*$/.test(description) && words !== '';
  if (isWhole) return words;
  const hash = createHash('sha256').update(description).digest('hex').slice(0, 8);
  return [words.slice(0, 60), hash].filter((part) => part !== '').join('_');
}

import { Logger } from '@nestjs/common';
import { DEADLINES, describeError } from '@ui-rl/retry';
import { readVariables } from '@ui-rl/settings';
import {
  callPlugin,
  PluginError,
  type ComponentChoice,
  type ComponentRegistry,
  type TrackedCheckpoint,
  type TrackedEvaluation,
  type TrackedStep,
  type Tracker,
  type TrackerContext,
} from '@ui-rl/plugin-kit';

interface NamedTracker {
  name: string;
  tracker: Tracker;
}

/**
 * Records a run with all trackers that it chooses. A call that fails or times out is logged; the run continues, and
 * so does the tracker, with the next call.
 */
export class Trackers {
  private constructor(
    private readonly trackers: readonly NamedTracker[],
    private readonly logger: Logger,
    private readonly deadlineMs: number,
  ) {}

  /** Throws a `PluginError` for an unknown name and for invalid options. */
  static async create(
    choices: readonly ComponentChoice[],
    components: ComponentRegistry,
    context: Omit<TrackerContext, 'log' | 'environment'>,
    deadlineMs: number = DEADLINES.tracker.ms,
  ): Promise<Trackers> {
    const logger = new Logger('trackers');
    const made = await Promise.all(
      choices.map(async (choice) => {
        const { name } = choice;
        const create = async (): Promise<Tracker> =>
          components.create('tracker', choice, {
            ...context,
            environment: readVariables(Object.keys(components.get('tracker', name).environment ?? {})),
            log: logTo(logger, name),
          });
        const created = create();
        try {
          return [{ name, tracker: await callPlugin('it', deadlineMs, () => created) }];
        } catch (error) {
          if (error instanceof PluginError) throw error;
          // Closes a tracker that is created too late.
          created.then((tracker) => tracker.close()).catch(() => undefined);
          logger.error(`tracker ${name} cannot record this run: ${describeError(error)}`);
          return [];
        }
      }),
    );
    return new Trackers(made.flat(), logger, deadlineMs);
  }

  /** Drops everything that was recorded after `step`, for a resumed run. */
  resume(step: number): Promise<void> {
    return this.each(`drop what follows step ${step}`, (tracker) => tracker.resume?.(step));
  }

  step(step: TrackedStep): Promise<void> {
    return this.each(`record step ${step.step}`, (tracker) => tracker.step(step));
  }

  evaluation(evaluation: TrackedEvaluation): Promise<void> {
    const { step, set } = evaluation;
    return this.each(`record the evaluation of ${set} at step ${step}`, (tracker) =>
      tracker.evaluation?.(evaluation),
    );
  }

  checkpoint(checkpoint: TrackedCheckpoint): Promise<void> {
    return this.each(`record checkpoint ${checkpoint.name}`, (tracker) => tracker.checkpoint?.(checkpoint));
  }

  close(): Promise<void> {
    return this.each('end', (tracker) => tracker.close());
  }

  private async each(what: string, call: (tracker: Tracker) => Promise<void> | undefined): Promise<void> {
    await Promise.all(
      this.trackers.map(async ({ name, tracker }) => {
        try {
          await callPlugin('it', this.deadlineMs, () => call(tracker));
        } catch (error) {
          this.logger.error(`tracker ${name} failed to ${what}: ${describeError(error)}`);
        }
      }),
    );
  }
}

function logTo(logger: Logger, name: string): TrackerContext['log'] {
  const methods = { debug: 'debug', info: 'log', warn: 'warn', error: 'error' } as const;
  return (level, message) => logger[methods[level]](`${name}: ${message}`);
}

import type { Action, Deadline, EnvironmentSession, Reply, Screenshot, StepOutcome } from '@ui-rl/plugin-kit';
import type { State } from './application';
import type { Desktop } from './desktop';
import { DesktopError } from './errors';
import { perform } from './perform';
import { plainLine } from './plain';

const MAX_ERROR = 1_000;

/** One episode on a desktop. */
export class DesktopSession implements EnvironmentSession {
  private over = false;

  constructor(
    readonly screenshot: Screenshot,
    readonly state: State,
    private readonly desktop: Desktop,
    /** Called when the desktop has ended. */
    private readonly ended: () => void,
  ) {
    this.last = state;
  }

  /** The last reported state, which is all that remains of a closed program. */
  private last: State;

  async step(action: Action, deadline: Deadline): Promise<Reply<StepOutcome>> {
    return asReply(() => this.desktop.during(deadline, () => this.play(action, deadline)));
  }

  async inspect(deadline: Deadline): Promise<Reply<State>> {
    return asReply(async () => {
      const state = await this.desktop.during(deadline, () => this.desktop.state());
      return state === undefined ? this.last : state;
    });
  }

  async close(deadline: Deadline): Promise<Reply<State>> {
    const dismissed = await asReply(() => this.desktop.during(deadline, () => this.desktop.dismissDialog()));
    const reply = dismissed.ok ? await this.inspect(deadline) : dismissed;
    await this.discard();
    return reply;
  }

  async discard(): Promise<void> {
    if (this.over) return;
    this.over = true;
    await this.desktop.end();
    this.ended();
  }

  private async play(action: Action, deadline: Deadline): Promise<StepOutcome> {
    const { desktop } = this;
    const problem = await perform(desktop.hands, action, deadline);
    await desktop.settle();
    const state = await desktop.stateInBetween();
    if (state !== undefined) this.last = state;
    const isClosed = await desktop.isClosed();
    const notes = [
      problem,
      desktop.answers ? null : 'not_responding',
      isClosed ? 'application_closed' : null,
    ];
    return {
      screenshot: await desktop.capture(action.action === 'zoom' && problem === null ? action : null),
      outcome: notes.filter((note) => note !== null).join(',') || 'ok',
      done: isClosed || action.action === 'finish',
      state,
    };
  }
}

/** Expected failures become values; all other errors propagate. */
export async function asReply<T>(work: () => Promise<T>): Promise<Reply<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    if (!(error instanceof DesktopError)) throw error;
    return { ok: false, error: { code: error.code, message: plainLine(error.message, MAX_ERROR) } };
  }
}

import type { Action } from '@ui-rl/actions';
import type { Reply, Screenshot } from '@ui-rl/contracts';
import { DEADLINES } from '@ui-rl/retry';
import type { Deadline, EnvironmentSession, StepOutcome } from '../kinds';
import { OutsideError } from './errors';
import { asOutsideReply } from './reply';
import type { ServerPlace } from './servers';

type State = Record<string, unknown>;

/** One episode at a server outside of the project. A failure ends it, and sets its server aside. */
export abstract class OutsideSession implements EnvironmentSession {
  abstract readonly screenshot: Screenshot;
  abstract readonly state: State;
  private isOver = false;

  /** @param place released at the end */
  protected constructor(private readonly place: ServerPlace) {}

  /** @throws OutsideError */
  protected abstract play(action: Action, deadline: Deadline): Promise<StepOutcome>;

  /** The state that verifiers judge, as the server reports it now. @throws OutsideError */
  protected abstract askState(signal: AbortSignal): Promise<State>;

  /** Ends the session at the server. @throws OutsideError if the failure should also set the server aside */
  protected abstract end(signal: AbortSignal): Promise<void>;

  step(action: Action, deadline: Deadline): Promise<Reply<StepOutcome>> {
    return this.orEnd(() => this.play(action, deadline));
  }

  inspect({ signal }: Deadline): Promise<Reply<State>> {
    return this.orEnd(() => this.askState(signal));
  }

  async close(deadline: Deadline): Promise<Reply<State>> {
    const reply = await this.inspect(deadline);
    if (reply.ok) await this.leave();
    return reply;
  }

  discard(): Promise<void> {
    return this.leave();
  }

  private async orEnd<T>(work: () => Promise<T>): Promise<Reply<T>> {
    const reply = await asOutsideReply(work);
    if (reply.ok) return reply;
    const { code, message } = reply.error;
    await this.leave(new OutsideError(code === 'deadline' ? 'deadline' : 'crashed', message));
    return reply;
  }

  private async leave(failure?: OutsideError): Promise<void> {
    if (this.isOver) return;
    this.isOver = true;
    // Before the session ends at the server, which may take time, so that no other episode starts there meanwhile.
    if (failure !== undefined) this.place.release(failure);
    const problem = await this.end(AbortSignal.timeout(DEADLINES.outsideLeave.ms)).catch(
      (error: unknown) => error,
    );
    if (failure === undefined) this.place.release(problem instanceof OutsideError ? problem : undefined);
  }
}

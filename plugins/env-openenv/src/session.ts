import {
  asOutsideReply,
  DEADLINES,
  OutsideError,
  type Action,
  type Deadline,
  type EnvironmentSession,
  type Reply,
  type Screenshot,
  type ServerPlace,
  type StepOutcome,
} from '@ui-rl/plugin-kit';
import type { ActionFormat } from './action-format';
import { frameOf, withoutPicture, type FrameOptions } from './frame';
import type { Observed, RemoteEnvironment } from './remote';

type State = Record<string, unknown>;

export interface SessionParts {
  remote: RemoteEnvironment;
  place: ServerPlace;
  format: ActionFormat;
  frame: FrameOptions;
}

/** One episode in an environment of a server. */
export class OpenEnvSession implements EnvironmentSession {
  readonly state: State;
  private last: Screenshot;
  private observed: Observed;
  private reward = 0;
  private isOver = false;

  private constructor(
    readonly screenshot: Screenshot,
    first: Observed,
    private readonly parts: SessionParts,
  ) {
    this.last = screenshot;
    this.observed = first;
    this.state = this.told();
  }

  /** @throws OutsideError where what the server shows is no screen */
  static async of(first: Observed, parts: SessionParts): Promise<OpenEnvSession> {
    const screenshot = await frameOf(first.observation, parts.frame, parts.place.server.address);
    return new OpenEnvSession(screenshot, first, parts);
  }

  async step(action: Action, deadline: Deadline): Promise<Reply<StepOutcome>> {
    const reply = await asOutsideReply(() => this.play(action, deadline.signal));
    if (!reply.ok) await this.fail(reply.error);
    return reply;
  }

  async inspect({ signal }: Deadline): Promise<Reply<State>> {
    const reply = await asOutsideReply(async () => this.told(await this.parts.remote.state(signal)));
    if (!reply.ok) await this.fail(reply.error);
    return reply;
  }

  async close(deadline: Deadline): Promise<Reply<State>> {
    const reply = await this.inspect(deadline);
    if (reply.ok) await this.leave();
    return reply;
  }

  async discard(): Promise<void> {
    await this.leave();
  }

  private async play(action: Action, signal: AbortSignal): Promise<StepOutcome> {
    const sent = this.parts.format(action);
    const isFinish = action.action === 'finish';
    if (sent === null) return this.outcome('unsupported_action', false);
    for (const each of sent) {
      const observed = await this.parts.remote.step(each, signal);
      if (observed === null) return this.outcome('action_refused', isFinish);
      await this.see(observed);
      if (observed.done) break;
    }
    const outcome = sent.length === 0 ? 'ok' : outcomeOf(this.observed.observation);
    return this.outcome(outcome, isFinish || this.observed.done);
  }

  /** An error in BrowserGym comes without a picture: the last one stays. */
  private async see(observed: Observed): Promise<void> {
    const { frame, place } = this.parts;
    const isError = observed.observation.last_action_error === true;
    const hasPicture = (observed.observation[frame.picture] ?? null) !== null;
    this.observed = observed;
    this.reward += observed.reward;
    if (isError && !hasPicture) return;
    this.last = await frameOf(observed.observation, frame, place.server.address);
  }

  private outcome(outcome: string, done: boolean): StepOutcome {
    return { screenshot: this.last, outcome, done, state: this.told() };
  }

  private told(state?: State): State {
    const { observation, done } = this.observed;
    return {
      reward: this.reward,
      done,
      observation: withoutPicture(observation, this.parts.frame.picture),
      ...(state === undefined ? {} : { state: withoutPicture(state, '') }),
    };
  }

  private async fail({ code, message }: { code: string; message: string }): Promise<void> {
    await this.leave(new OutsideError(code === 'deadline' ? 'deadline' : 'crashed', message));
  }

  private async leave(failure?: OutsideError): Promise<void> {
    if (this.isOver) return;
    this.isOver = true;
    const { remote, place } = this.parts;
    const closed = remote.close(AbortSignal.timeout(DEADLINES.outsideLeave.ms));
    await closed.catch(() => undefined);
    place.release(failure);
  }
}

/** What an observation says of the action: `outcome` as servers of this project name it, or BrowserGym's `last_action_error`. */
function outcomeOf({ outcome, last_action_error: isError }: Record<string, unknown>): string {
  if (isError === true) return 'action_failed';
  return typeof outcome === 'string' && /^[a-z_]+(,[a-z_]+)*$/.test(outcome.slice(0, 200)) ? outcome : 'ok';
}

import {
  OutsideSession,
  valueAt,
  type Action,
  type Deadline,
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

/** One episode in a server's environment. */
export class OpenEnvSession extends OutsideSession {
  readonly state: State;
  readonly takesFinish = true;
  private last: Screenshot;
  private observed: Observed;
  private reward = 0;

  private constructor(
    readonly screenshot: Screenshot,
    first: Observed,
    private readonly parts: SessionParts,
  ) {
    super(parts.place);
    this.last = screenshot;
    this.observed = first;
    this.state = this.told();
  }

  /** @throws OutsideError if the observation has no usable screen */
  static async of(first: Observed, parts: SessionParts): Promise<OpenEnvSession> {
    const screenshot = await frameOf(first.observation, parts.frame, parts.place.server.address);
    return new OpenEnvSession(screenshot, first, parts);
  }

  protected async play(action: Action, { signal }: Deadline): Promise<StepOutcome> {
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

  protected async askState(signal: AbortSignal): Promise<State> {
    return this.told(await this.parts.remote.state(signal));
  }

  /** If the server has already ended the session, this is not a failure. */
  protected async end(signal: AbortSignal): Promise<void> {
    await this.parts.remote.close(signal).catch(() => undefined);
  }

  /** BrowserGym sends errors without a picture; the last one is kept. */
  private async see(observed: Observed): Promise<void> {
    const { frame, place } = this.parts;
    const isError = observed.observation.last_action_error === true;
    const hasPicture = (valueAt(observed.observation, frame.picture) ?? null) !== null;
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
}

/** The outcome of the action: `outcome` on servers of this project, or BrowserGym's `last_action_error`. */
function outcomeOf({ outcome, last_action_error: isError }: Record<string, unknown>): string {
  if (isError === true) return 'action_failed';
  return typeof outcome === 'string' && /^[a-z_]+(,[a-z_]+)*$/.test(outcome.slice(0, 200)) ? outcome : 'ok';
}

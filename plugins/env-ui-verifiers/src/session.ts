import { setTimeout as sleep } from 'node:timers/promises';
import {
  OutsideError,
  OutsideSession,
  type Action,
  type Deadline,
  type Screenshot,
  type ServerPlace,
  type StepOutcome,
} from '@ui-rl/plugin-kit';
import type { Progress, RemoteSession } from './remote';
import { askedFor, isOutside, type ActQuery } from './requests';

type State = Record<string, unknown>;

/** Time kept from the deadline for the screenshot after a wait. */
const RESERVE_MS = 2_000;

export interface SessionParts {
  remote: RemoteSession;
  place: ServerPlace;
  /** The server's counts before the episode. */
  before: Progress;
  delaySeconds: number;
}

/** One episode on a server. */
export class UiVerifiersSession extends OutsideSession {
  readonly state: State = stateOf({ submittedRows: [], incorrect: 0 });
  private last: Screenshot;
  /** The last counts. */
  private known: State = this.state;

  constructor(
    readonly screenshot: Screenshot,
    private readonly parts: SessionParts,
  ) {
    super(parts.place);
    this.last = screenshot;
  }

  protected async play(action: Action, deadline: Deadline): Promise<StepOutcome> {
    const asked = askedFor(action);
    if (asked.kind === 'finish') return this.outcome('ok', true);
    if (asked.kind === 'unsupported') return this.outcome('unsupported_action');
    if (isOutside(action, this.last)) return this.outcome('outside_viewport');
    if (asked.kind === 'wait') return this.wait(asked.seconds, deadline);
    return this.act(asked.queries, deadline);
  }

  /** Requests in order; the server waits only after the last one. */
  private async act(queries: readonly ActQuery[], { signal }: Deadline): Promise<StepOutcome> {
    for (const [index, query] of queries.entries()) {
      const isLast = index === queries.length - 1;
      const delay = String(isLast ? this.parts.delaySeconds : 0);
      const screenshot = await this.parts.remote.act({ ...query, delay }, signal);
      if (screenshot === null) return this.counted('action_refused', signal);
      this.last = screenshot;
    }
    return this.counted('ok', signal);
  }

  private async wait(seconds: number, { deadlineAt, signal }: Deadline): Promise<StepOutcome> {
    const allowedMs = Math.max(0, Math.min(seconds * 1000, deadlineAt - Date.now() - RESERVE_MS));
    await sleep(allowedMs, undefined, { signal }).catch(() => undefined);
    this.last = await this.parts.remote.screenshot(signal);
    return this.counted(allowedMs < seconds * 1000 ? 'wait_cut_short' : 'ok', signal);
  }

  /** Reads the counts after an action, so that rewards apply to the turn of the submission. */
  private async counted(outcome: string, signal: AbortSignal): Promise<StepOutcome> {
    this.known = await this.askState(signal);
    return this.outcome(outcome);
  }

  private outcome(outcome: string, done = false): StepOutcome {
    return { screenshot: this.last, outcome, done, state: this.known };
  }

  protected async askState(signal: AbortSignal): Promise<State> {
    return stateOf(since(this.parts.before, await this.parts.remote.progress(signal)));
  }

  protected end(signal: AbortSignal): Promise<void> {
    return this.parts.remote.end(signal);
  }
}

/** The counts of an episode alone. Lower counts than before mean that the server was restarted. */
function since(before: Progress, now: Progress): Progress {
  if (now.submittedRows.length < before.submittedRows.length || now.incorrect < before.incorrect) {
    throw new OutsideError('crashed', 'the server has forgotten what was submitted: it was started anew');
  }
  return {
    submittedRows: now.submittedRows.slice(before.submittedRows.length),
    incorrect: now.incorrect - before.incorrect,
  };
}

function stateOf({ submittedRows, incorrect }: Progress): State {
  return {
    submitted_row_indices: submittedRows,
    num_incorrect_submissions: incorrect,
    num_submissions: submittedRows.length,
  };
}

import { createHash } from 'node:crypto';
import type { Attempt } from '@ui-rl/page-tasks';
import type { LivePage } from '@ui-rl/page-generator';
import type { Action, Deadline, EnvironmentSession, Reply, Screenshot, StepOutcome } from '@ui-rl/plugin-kit';
import { replyInTime } from './in-time';

type State = { goal: string; done: boolean };

/** One episode on a generated page. */
export class GeneratedPageSession implements EnvironmentSession {
  readonly state: State;
  private isClosed = false;

  private constructor(
    readonly screenshot: Screenshot,
    private readonly attempt: Attempt,
    private readonly live: LivePage,
  ) {
    this.state = { goal: attempt.task.goal, done: false };
  }

  static async of(attempt: Attempt, live: LivePage): Promise<GeneratedPageSession> {
    return new GeneratedPageSession(await screenshotOf(live), attempt, live);
  }

  step(action: Action, deadline: Deadline): Promise<Reply<StepOutcome>> {
    return replyInTime(deadline, async () => {
      const standing = await this.attempt.perform(action);
      return { screenshot: await screenshotOf(this.live), outcome: 'ok', done: standing !== 'open' };
    });
  }

  inspect(deadline: Deadline): Promise<Reply<State>> {
    return replyInTime(deadline, async () => ({ ...this.state, done: await this.attempt.isDone() }));
  }

  async close(deadline: Deadline): Promise<Reply<State>> {
    const state = await this.inspect(deadline);
    await this.discard();
    return state;
  }

  async discard(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    await this.live.close();
  }
}

async function screenshotOf(live: LivePage): Promise<Screenshot> {
  const { width, height } = live.generated;
  const png = await live.png();
  return { png, sha256: createHash('sha256').update(png).digest('hex'), width, height };
}

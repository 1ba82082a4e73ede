import type { Action } from '@ui-rl/actions';
import type { LivePage } from '@ui-rl/page-generator';
import { nextStep } from './solver';
import type { Task } from './task';

/** Elements that a click sets off, so that it cannot be taken back. */
const SET_OFF = ['button', 'link', 'icon', 'shape', 'bar'];

/** `done`: the goal is reached; `spoiled`: an action set off something else; `open`: neither yet. */
export type Standing = 'open' | 'done' | 'spoiled';

/** A policy's attempt at a task on its page. */
export class Attempt {
  private current: Standing = 'open';

  constructor(
    readonly task: Task,
    private readonly live: LivePage,
  ) {}

  /**
   * Performs an action. If the task ends by a click or a key, the attempt is over as soon as the goal is reached, or
   * as soon as a click sets off another element than the solver's next one; later actions have no effect. Otherwise
   * the policy says when to end.
   */
  async perform(action: Action): Promise<Standing> {
    if (this.current !== 'open') return this.current;
    if (!this.task.endsByClick) {
      await this.live.perform(action);
      return this.current;
    }
    const truth = await this.live.truth();
    const { target } = nextStep(this.task, truth);
    const before = (await this.live.state()).events.length;
    await this.live.perform(action);
    const state = await this.live.state();
    const isWrong = state.events.slice(before).some(({ id, event }) => {
      const kind = truth.elements.find((element) => element.id === id)?.kind;
      return event === 'click' && kind !== undefined && SET_OFF.includes(kind) && !target.includes(id);
    });
    if (isWrong) this.current = 'spoiled';
    else if (this.task.isDone(state)) this.current = 'done';
    return this.current;
  }

  /** Whether the goal is reached now, and nothing else was set off before. */
  async isDone(): Promise<boolean> {
    return this.current !== 'spoiled' && this.task.isDone(await this.live.state());
  }
}

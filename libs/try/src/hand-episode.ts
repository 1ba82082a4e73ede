import type { Action } from '@ui-rl/actions';
import type { Check } from '@ui-rl/contracts';
import { ANOTHER_EACH_TIME, judged, maxSteps, ofKinds, picked, readKinds, type CheckedTask } from './choose';
import { TryFailure } from './failure';
import { HandPlay, type HandPlayed } from './hand-play';
import type { LiveHandlers } from './live-page';
import type { TryOptions } from './options';
import { propose, type Proposal } from './propose';
import type { TrySetup } from './setup';
import type { Stage } from './stage';
import { verifyTask } from './verify-task';
import type { LiveView, ShownProposal } from './view';

const MAX_ACTIONS = 200;
/** Number of other seeds whose start is verified without actions: a check may already hold on another start. */
const OTHER_STARTS = 2;
/** The usual cause of a check that fails on a fresh page. */
const RANDOM_PAGE =
  'If the page is random or reads the clock, make it depend on the seed of window.uirl.reset({ seed }): docs/guides/your-own-page.md#pages-with-randomness';

/** A person's demonstration as a task, verified with and without its actions. */
export interface HandTask {
  task: CheckedTask;
  /** Contains everything that was typed; never write this to a file. */
  actions: readonly Action[];
  played: HandPlayed;
  /** The checks in words. */
  checks: readonly string[];
}

/** One episode that a person plays, and the task derived from it. */
export class HandEpisode {
  private play: HandPlay | undefined;
  private choice:
    | { shown: readonly ShownProposal[]; proposals: readonly Proposal[]; resolve: (checks: Chosen) => void }
    | undefined;

  constructor(
    private readonly setup: TrySetup,
    private readonly options: TryOptions,
    private readonly live: LiveView,
    private readonly idleMs: number,
  ) {
    // Reports a misspelt kind before the person plays.
    if (options.checks !== undefined) readKinds(options.checks);
  }

  /** The requests of the live page. */
  readonly handlers: LiveHandlers = {
    act: (action) => this.playing().act(action),
    undo: () => this.playing().undo(),
    done: () => this.playing().done(),
    choose: (ids) => this.choose(ids),
  };

  /** @throws TryFailure if the page fails, or after too long without activity */
  async playOn(stage: Stage, saveStorage: (save: () => Promise<object>) => Promise<void>): Promise<HandTask> {
    const { setup, live, options, idleMs } = this;
    const played = await this.playOnce(stage, saveStorage);
    live.update({ phase: 'checking' });
    const proposals = propose(played);
    if (proposals.length === 0)
      throw new TryFailure(
        'nothing that could be checked has changed: neither address, text, elements, storage nor requests of the page',
      );
    const { actions } = played;
    const draft = this.taskWith(
      proposals.map(({ check }) => check),
      actions,
    );
    const otherStarts = played.before.isSeeded ? OTHER_STARTS : 0;
    const tried = await verifyTask(stage, draft, actions, setup.seed, otherStarts);
    const shown = judged(proposals, tried.checks);
    live.update({ phase: 'choosing', proposals: shown });
    const { checks, words } = await this.chosen(proposals, shown, idleMs);
    live.update({ phase: 'checking' });
    const task = this.taskWith(checks, actions);
    // Each check was already verified from other starts.
    const verdict = await verifyTask(stage, task, actions, setup.seed);
    if (verdict.untouched)
      throw new TryFailure('the task is true without doing anything: its checks say nothing');
    if (!verdict.replayed)
      throw new TryFailure(
        `the same actions on a page that was opened afresh do not make the checks true: the page does something else each time. ${RANDOM_PAGE}`,
      );
    options.signal?.throwIfAborted();
    return { task, actions, played, checks: words };
  }

  private async playOnce(
    stage: Stage,
    saveStorage: (save: () => Promise<object>) => Promise<void>,
  ): Promise<HandPlayed> {
    const { setup, live, options, idleMs } = this;
    let episode = await stage.begin(setup.task, setup.seed);
    const restart = async () => {
      await episode.discard();
      episode = await stage.begin(setup.task, setup.seed);
      return episode;
    };
    try {
      const { signal, onTurn } = options;
      const limits = { idleMs, maxActions: MAX_ACTIONS, signal };
      this.play = await HandPlay.begin(episode, { live, ...limits, onTurn, restart });
      const played = await this.play.played();
      await saveStorage(() => episode.storageState());
      return played;
    } finally {
      await episode.discard();
    }
  }

  private playing(): HandPlay {
    if (this.play === undefined) throw new TryFailure('the page is still being opened');
    return this.play;
  }

  private taskWith(checks: readonly Check[], actions: readonly Action[]): CheckedTask {
    return { ...this.setup.task, maxSteps: maxSteps(actions.length), checks: [...checks] };
  }

  /** Picks the checks by the kinds in the options, or by the first answer from the live page or the caller. */
  private async chosen(
    proposals: readonly Proposal[],
    shown: readonly ShownProposal[],
    idleMs: number,
  ): Promise<Chosen> {
    const { checks, choose, signal } = this.options;
    const take = (ids: readonly number[]): Chosen => ({
      checks: picked(proposals, shown, ids),
      words: ids.map((id) => proposals[id].words),
    });
    if (checks !== undefined) return take(ofKinds(shown, readKinds(checks)));
    if (shown.every(({ refused }) => refused !== null))
      throw new TryFailure(
        shown.some(({ refused }) => refused === ANOTHER_EACH_TIME)
          ? `no check can be made: ${ANOTHER_EACH_TIME}. ${RANDOM_PAGE}`
          : `no check can be made: ${shown[0].refused}`,
      );
    const over = new AbortController();
    const ends = AbortSignal.any([
      over.signal,
      AbortSignal.timeout(idleMs),
      ...(signal === undefined ? [] : [signal]),
    ]);
    const byPage = new Promise<Chosen>((resolve, reject) => {
      this.choice = { proposals, shown, resolve };
      ends.addEventListener('abort', () =>
        reject(signal?.aborted === true ? (signal.reason as Error) : new TryFailure('no checks were picked')),
      );
    });
    byPage.catch(() => undefined);
    try {
      if (choose === undefined) return await byPage;
      return await Promise.race([byPage, choose(shown, ends).then(take)]);
    } finally {
      over.abort();
      this.choice = undefined;
    }
  }

  private choose(ids: readonly number[]): void {
    if (this.choice === undefined) throw new TryFailure('there is nothing to be picked now');
    const { proposals, shown, resolve } = this.choice;
    resolve({ checks: picked(proposals, shown, ids), words: ids.map((id) => proposals[id].words) });
  }
}

interface Chosen {
  checks: Check[];
  words: string[];
}

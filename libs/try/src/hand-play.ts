import { readAction, type Action } from '@ui-rl/actions';
import type { Screenshot } from '@ui-rl/contracts';
import type { Focus, Survey, Point } from '@ui-rl/plugin-kit';
import sharp from 'sharp';
import { TryFailure } from './failure';
import type { Played } from './propose';
import { MASKED, Secrets } from './secrets';
import type { StagedEpisode } from './stage';
import type { LiveView, ShownTurn } from './view';

export interface HandOptions {
  live: LiveView;
  /** Ends the episode after this time without activity, in ms. */
  idleMs: number;
  maxActions: number;
  signal?: AbortSignal | undefined;
  onTurn?: ((turn: ShownTurn) => void) | undefined;
  /** Opens the page again as it was at the beginning, instead of the open one. */
  restart: () => Promise<StagedEpisode>;
}

/** A person's episode. */
export interface HandPlayed extends Played {
  /** Contains everything that was typed: for replays only, never write or show this. */
  actions: readonly Action[];
  /** Indices of the actions that typed secrets. */
  secretAt: ReadonlySet<number>;
}

/** The actions with secrets removed, which may be written. */
export function writtenActions({
  actions,
  secretAt,
  secrets,
}: Pick<HandPlayed, 'actions' | 'secretAt' | 'secrets'>): object[] {
  return actions.map((action, place) => (secretAt.has(place) ? masked(action) : secrets.mask({ ...action })));
}

function masked(action: Action): object {
  if (action.action === 'type') return { ...action, text: MASKED };
  return action.action === 'key' ? { ...action, keys: [MASKED] } : { ...action };
}

/** The text that an action types; null if it types none. */
function textOf(action: Action): string | null {
  if (action.action === 'type') return action.text;
  if (action.action !== 'key') return null;
  const [key, ...others] = action.keys.filter((each) => each !== 'shift');
  if (key === undefined || others.length > 0) return null;
  if (key === 'space') return ' ';
  // Names of keys have more than one character.
  return Array.from(key).length === 1 ? key : null;
}

/** Delay after an action before the page is checked again; later changes also need a wait in replays. */
const LATER_SECONDS = 0.5;
/** The wait that a replay needs then. */
const WAIT: Action = { action: 'wait', seconds: 1 };
/** Minimum share of pixels that must differ; a blinking caret stays below it. */
const CHANGED_SHARE = 0.002;
const CHANGED_BY = 16;

/** A person plays an episode: input on the live page becomes actions of the environment, one after the other. */
export class HandPlay {
  private readonly actions: Action[] = [];
  private readonly touched = new Set<string>();
  private readonly typed: string[] = [];
  private readonly secrets = new Secrets();
  private readonly secretAt = new Set<number>();
  /** Secret text by field, and under '' the text typed into all fields in sequence. */
  private readonly secretTexts = new Map<string, string>();
  private queue: Promise<void> = Promise.resolve();
  private waiting = 0;
  private turns = 0;
  private shown: Screenshot;
  private idle: NodeJS.Timeout | undefined;
  private isOver = false;
  private isReplaying = false;
  private finish: () => void;
  private fail: (error: Error) => void;
  private readonly finished = new Promise<void>((resolve, reject) => {
    this.finish = resolve;
    this.fail = reject;
  });

  private constructor(
    private episode: StagedEpisode,
    private readonly before: Survey,
    private readonly options: HandOptions,
  ) {
    this.shown = episode.screenshot;
    this.finished.catch(() => undefined);
    this.renew();
  }

  static async begin(episode: StagedEpisode, options: HandOptions): Promise<HandPlay> {
    const before = await episode.survey(null);
    const { png, sha256 } = episode.screenshot;
    options.live.addScreenshot(png, sha256);
    options.live.update({ phase: 'playing', isSecretFocus: before.focus?.isSecret === true });
    return new HandPlay(episode, before, options);
  }

  /** Takes an action from the live page. @throws TryFailure that says why it is invalid */
  act(given: unknown): void {
    if (this.isOver) throw new TryFailure('the episode is over');
    const read = readAction(given);
    if (!read.ok) throw new TryFailure(read.correction);
    if (this.actions.length + this.waiting >= this.options.maxActions)
      throw new TryFailure(`these are ${this.options.maxActions} actions, as many as an episode may have`);
    this.renew();
    if (read.action.action === 'finish') {
      this.done();
      return;
    }
    this.waiting += 1;
    this.queue = this.queue.then(() => this.perform(read.action)).catch((error: Error) => this.stop(error));
  }

  /**
   * Takes back the last action after the pending ones: opens the page again and repeats the others. @throws TryFailure
   * if there is none
   */
  undo(): void {
    if (this.isOver) throw new TryFailure('the episode is over');
    if (this.actions.length + this.waiting === 0)
      throw new TryFailure('nothing to undo: perform an action first');
    this.renew();
    this.queue = this.queue.then(() => this.takeBack()).catch((error: Error) => this.stop(error));
  }

  private async takeBack(): Promise<void> {
    const { live, restart } = this.options;
    // A wait that was added by itself belongs to the action before it, and is added again.
    const kept = this.actions.filter((action) => action !== WAIT).slice(0, -1);
    for (const memory of [this.touched, this.secretAt, this.secretTexts]) memory.clear();
    for (const list of [this.actions, this.typed]) list.length = 0;
    this.turns = 0;
    live.update({ message: 'Undoing: the page is opened again.', turns: [], canUndo: false });
    this.episode = await restart();
    this.show(this.episode.screenshot);
    this.isReplaying = true;
    for (const action of kept) {
      this.waiting += 1;
      await this.perform(action);
      this.renew();
    }
    this.isReplaying = false;
    const { focus } = await this.episode.survey(null);
    live.update({ message: null, isSecretFocus: focus?.isSecret === true });
  }

  /** Ends the episode after the pending actions. */
  done(): void {
    this.isOver = true;
    this.queue = this.queue.then(() => this.finish());
  }

  /**
   * Resolves when the person has finished. @throws TryFailure if the page fails, or after too long without activity
   */
  async played(): Promise<HandPlayed> {
    const { signal } = this.options;
    const abort = () => this.fail(new Error(`stopped by ${String(signal?.reason)}`));
    if (signal?.aborted === true) abort();
    signal?.addEventListener('abort', abort, { once: true });
    try {
      await this.finished;
      if (this.actions.length === 0)
        throw new TryFailure('nothing was done on the page, so there is nothing to check');
      const { before, touched, typed, secrets, actions, secretAt } = this;
      const after = await this.episode.survey(null);
      this.hold(after.focus);
      return { before, after, touched: [...touched], typed, secrets, actions, secretAt };
    } finally {
      this.isOver = true;
      clearTimeout(this.idle);
      signal?.removeEventListener('abort', abort);
    }
  }

  private async perform(action: Action): Promise<void> {
    const { live } = this.options;
    const began = performance.now();
    const seen = this.shown.sha256;
    const { focus, target } = await this.episode.survey(pointOf(action));
    const isTyped = action.action === 'type' || action.action === 'key';
    // Of an element within a frame or a component, take the part that lies in the page's document.
    const touched = isTyped ? focus?.selector.split(' >> ')[0] : target;
    if (touched !== undefined && touched !== null) this.touched.add(touched);
    this.hold(focus);
    const text = textOf(action);
    const isSecret = text !== null && focus?.isSecret === true;
    if (isSecret) this.remember(text, focus);
    else if (action.action === 'type') this.typed.push(action.text);
    const { screenshot, outcome, done } = await this.episode.step(action);
    if (isSecret) this.secretAt.add(this.actions.length);
    this.actions.push(action);
    const shownAction = isSecret ? masked(action) : this.secrets.mask({ ...action });
    this.tell({
      index: this.turns++,
      screenshot: seen,
      text: null,
      actions: [shownAction as ShownTurn['actions'][number]],
      outcome,
      parseError: null,
      seconds: (performance.now() - began) / 1000,
    });
    this.show(screenshot);
    this.waiting -= 1;
    if (done) return this.done();
    await this.lookAgain();
    const { focus: next } = await this.episode.survey(null);
    this.hold(next);
    live.update({ isSecretFocus: next?.isSecret === true, canUndo: true });
  }

  /** The content of a secret field is the secret, even if other text was typed and deleted before. */
  private hold(focus: Focus | null): void {
    if (focus?.isSecret === true) this.secrets.hold(focus.selector, focus.value ?? '');
  }

  /**
   * A secret typed in pieces is still secret, even if each piece goes to another field or the input ends with Enter.
   */
  private remember(text: string, { selector, value = '' }: Focus): void {
    for (const place of ['', selector]) {
      const whole = `${this.secretTexts.get(place) ?? ''}${text}`;
      this.secretTexts.set(place, whole);
      this.addLines(whole);
    }
    this.addLines(text);
    this.secrets.hold(selector, `${value}${text}`.split('\n', 1)[0]);
  }

  private addLines(text: string): void {
    for (const line of text.split('\n')) this.secrets.add(line);
  }

  /** An agent has to wait for delayed changes of a page, so the recording waits, too. */
  private async lookAgain(): Promise<void> {
    if (this.waiting > 0 || this.isOver) return;
    const { screenshot, done } = await this.episode.step({ action: 'wait', seconds: LATER_SECONDS });
    const hasChanged = await differ(this.shown.png, screenshot.png);
    const seen = this.shown.sha256;
    this.show(screenshot);
    if (hasChanged && this.actions.at(-1)?.action !== 'wait') {
      this.actions.push(WAIT);
      const actions = [{ ...WAIT }];
      this.tell({
        index: this.turns++,
        screenshot: seen,
        text: null,
        actions,
        outcome: 'ok',
        parseError: null,
        seconds: LATER_SECONDS,
      });
    }
    if (done) this.done();
  }

  private tell(turn: ShownTurn): void {
    this.options.live.addTurn(turn);
    if (!this.isReplaying) this.options.onTurn?.(turn);
  }

  private show(screenshot: Screenshot): void {
    this.shown = screenshot;
    this.options.live.addScreenshot(screenshot.png, screenshot.sha256);
  }

  private stop(error: Error): void {
    this.isOver = true;
    this.fail(error);
  }

  private renew(): void {
    const { idleMs } = this.options;
    clearTimeout(this.idle);
    this.idle = setTimeout(
      () => this.stop(new TryFailure(`no activity for ${Math.round(idleMs / 60_000)} minutes`)),
      idleMs,
    );
  }
}

function pointOf(action: Action): Point | null {
  if ('from' in action) return action.from;
  return 'x' in action && action.x !== undefined && action.y !== undefined ? [action.x, action.y] : null;
}

/** Whether a person would see a difference between two screenshots. */
async function differ(before: Uint8Array, after: Uint8Array): Promise<boolean> {
  const [a, b] = await Promise.all([before, after].map((png) => sharp(png).greyscale().raw().toBuffer()));
  if (a.length !== b.length) return true;
  let changed = 0;
  for (let at = 0; at < a.length; at += 1) if (Math.abs(a[at] - b[at]) > CHANGED_BY) changed += 1;
  return changed / a.length > CHANGED_SHARE;
}

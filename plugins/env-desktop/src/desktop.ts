import { setTimeout as sleep } from 'node:timers/promises';
import type { Deadline, Screenshot } from '@ui-rl/plugin-kit';
import { show, type Shown, type ShowOptions, type State } from './application';
import type { DesktopSpec } from './desktop-spec';
import { startDisplay, type Display } from './display';
import { DesktopError } from './errors';
import type { DesktopPrograms } from './find-programs';
import { Keyboard } from './keyboard';
import type { MemoryWatch } from './memory-watch';
import type { DesktopOptions } from './options';
import type { Hands } from './perform';
import { Pointer } from './pointer';
import { Camera } from './screenshot';
import { Seat } from './seat';
import type { Ping, XConnection } from './x-connection';

/** What all desktops of an environment have in common. */
export interface DesktopContext {
  programs: DesktopPrograms;
  options: DesktopOptions;
  kernel: ShowOptions['kernel'];
  confines: boolean;
  memory: MemoryWatch;
}

/** Between two looks at the windows of a program that starts. */
const POLL_MS = 20;
/** A page is gone before its browser is. */
const CAUSE_WITHIN_MS = 500;
/** Within which programs end that cannot be without each other. */
const ENDS_TOGETHER_MS = 200;
/** After which a program that does not answer at the end of an episode is taken to hang. */
const HUNG_MS = 5_000;
/** After which a page that has answered so far is taken not to tell its state; it does within milliseconds. */
const TELLS_WITHIN_MS = 2_000;
/** The same for one that has just let its time pass: it may only take long to draw. */
const TELLS_AT_ONCE_MS = 300;
/** In which a program that cannot be asked is taken to have dealt with what was typed. */
const UNASKED_MS = 300;
const MIB = 2 ** 20;

/** A desktop with a program on it, from its start to its end. */
export class Desktop {
  private readonly failed: Promise<never>;
  private fail: (error: DesktopError) => void = () => undefined;
  private readonly camera: Camera;
  /** A ping whose answer did not come in time. */
  private unanswered: Ping | null = null;
  /** Whether the page has answered in time what it was asked last. */
  private pageAnswers = true;
  /** That it has used too much memory. */
  private exceeded: DesktopError | null = null;
  private readonly unwatch: () => void;
  readonly hands: Hands;

  private constructor(
    private readonly seat: Seat,
    private readonly display: Display,
    private readonly shown: Shown,
    keyboard: Keyboard,
    spec: DesktopSpec,
    private readonly context: DesktopContext,
  ) {
    const { x, server, manager } = display;
    this.failed = new Promise<never>((_, reject) => {
      this.fail = reject;
    });
    this.failed.catch(() => undefined);
    for (const part of [server, manager, shown.program]) {
      void part.ended.then(() => this.fails());
    }
    this.unwatch = this.watchMemory();
    this.camera = new Camera(x, spec.screen);
    this.hands = { screen: spec.screen, pointer: new Pointer(x), keyboard };
  }

  /** Throws `DesktopError` where anything does not start. */
  static async open(
    spec: DesktopSpec,
    seed: number,
    context: DesktopContext,
    deadline: Deadline,
  ): Promise<Desktop> {
    const seat = Seat.take();
    const starting = Desktop.start(seat, spec, seed, context);
    try {
      return await before(deadline, async () => {
        const desktop = await starting;
        await desktop.begin();
        return desktop;
      });
    } catch (error) {
      await seat.end();
      starting.then(
        (desktop) => desktop.disconnect(),
        () => undefined,
      );
      throw error;
    }
  }

  private static async start(
    seat: Seat,
    spec: DesktopSpec,
    seed: number,
    context: DesktopContext,
  ): Promise<Desktop> {
    const { programs, options, kernel, confines } = context;
    const memoryMb = options.memory_mb;
    const display = await startDisplay(seat, { programs, screen: spec.screen, memoryMb });
    const { x, environment } = display;
    const { chromium } = programs;
    const keyboard = await Keyboard.of(x, () => dealtWith(x));
    const shown = show({ seat, x, spec, seed, environment, memoryMb, chromium, kernel, confines });
    return new Desktop(seat, display, shown, keyboard, spec, context);
  }

  /** Whether somebody has closed what is shown: its page, or the program, which has ended as such programs do. */
  async isClosed(): Promise<boolean> {
    if (this.shown.isClosed()) return true;
    return this.shown.program.ending?.code === 0 && (await this.display.x.windows()).length === 0;
  }

  /** Does something with the desktop. Throws a `DesktopError` when the deadline passes, or part of the desktop ends. */
  async during<T>(deadline: Deadline, work: () => Promise<T>): Promise<T> {
    return before(deadline, async () => {
      try {
        return await Promise.race([work(), this.failed]);
      } catch (error) {
        if (!(error instanceof DesktopError) || error.code !== 'crashed') throw error;
        // Programs that cannot be without each other end in any order, and a lost connection is noticed first.
        await sleep(ENDS_TOGETHER_MS);
        throw this.cause() ?? error;
      }
    });
  }

  /**
   * Waits until the screen shows the effect of the last action: the program has taken all events, as far as it can be asked, and
   * nothing has been drawn for a while; but no longer than `settle_ms`.
   */
  async settle(): Promise<void> {
    const { x } = this.display;
    const { quiet_ms: quietMs, settle_ms: settleMs } = this.context.options;
    const until = performance.now() + settleMs;
    this.unanswered = await this.unansweredPing(settleMs);
    this.pageAnswers = true;
    if (this.answers && this.isThere) {
      const leftMs = Math.max(0, until - performance.now());
      await this.askPage(leftMs, (givenUp) => this.shown.settled(givenUp));
    }
    const from = performance.now();
    for (;;) {
      const now = performance.now();
      const left = Math.min(Math.max(from, x.drawnAt) + quietMs, until) - now;
      if (left <= 0) return;
      await sleep(left);
    }
  }

  /**
   * Whether the program has answered since the last action. The thread of a page that computes, or waits until somebody closes its
   * dialog, does not, while its window still takes events. What is gone owes no answer.
   */
  get answers(): boolean {
    return (this.unanswered === null && this.pageAnswers) || !this.isThere;
  }

  async capture(): Promise<Screenshot> {
    return this.camera.take();
  }

  /** The state after an action, where it costs next to nothing and is told in time; else undefined. */
  async stateInBetween(): Promise<State | undefined> {
    if (!this.shown.tellsState || !this.isThere) return undefined;
    const limitMs = this.answers ? TELLS_WITHIN_MS : TELLS_AT_ONCE_MS;
    return this.askPage(limitMs, (givenUp) => this.shown.state(givenUp));
  }

  /** The state that is judged; undefined where the program has ended and took it along. Throws where it hangs. */
  async state(): Promise<State | undefined> {
    const { shown } = this;
    if (shown.tellsState && !this.isThere) return undefined;
    if (this.unanswered !== null && !(await within(HUNG_MS, this.unanswered.answered)))
      throw this.hung('takes no events any more');
    if (!shown.tellsState) return shown.state();
    const state = await this.askPage(HUNG_MS, (givenUp) => shown.state(givenUp));
    if (!this.pageAnswers)
      throw this.hung('shows a page that does not answer: it is busy, or waits for a dialog');
    return state;
  }

  /** Cancels a dialog that keeps a page from answering, so that an agent which leaves it open is judged all the same. */
  async dismissDialog(): Promise<void> {
    if (!this.pageAnswers && this.isThere) await this.hands.keyboard.chord(['escape']);
  }

  private hung(how: string): DesktopError {
    const { name, said } = this.shown.program;
    return new DesktopError('hung', `${name} ${how}${said}`);
  }

  /** What comes of a question to the page; undefined where it does not answer in time, or somebody was closing it. */
  private async askPage<T>(
    milliseconds: number,
    ask: (givenUp: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> {
    const givenUp = new AbortController();
    const answer = this.unlessClosed(() => ask(givenUp.signal));
    const answered = answer.then(() => undefined);
    this.pageAnswers = await within(milliseconds, answered);
    if (this.pageAnswers) return answer;
    givenUp.abort();
    return undefined;
  }

  private get isThere(): boolean {
    return this.shown.program.ending === null && !this.shown.isClosed();
  }

  /** What was asked of a program that somebody was closing has no answer, which is no failure. */
  private async unlessClosed<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!this.shown.isClosed()) throw error;
      // One that has crashed is told apart by how it ends.
      await Promise.race([this.shown.program.ended, sleep(CAUSE_WITHIN_MS)]);
      return undefined;
    }
  }

  /** Ends everything. Never throws. */
  async end(): Promise<void> {
    this.disconnect();
    await this.seat.end();
  }

  private disconnect(): void {
    this.unwatch();
    this.display.x.close();
  }

  /** Waits for its window, and brings what is shown into its first state. */
  private async begin(): Promise<void> {
    await Promise.race([this.failed, this.untilShown()]);
    await Promise.race([this.failed, this.shown.begin()]);
    await Promise.race([this.failed, this.settle()]);
  }

  private async untilShown(): Promise<void> {
    const { program, window: wanted } = this.shown;
    const { window_ms: windowMs } = this.context.options;
    const until = performance.now() + windowMs;
    while (!(await this.isShown(wanted))) {
      if (program.ending !== null) throw crashed(`${program.howEnded}, and has shown no window`);
      if (performance.now() > until) {
        const which = wanted === undefined ? 'no window' : `no window with "${wanted}" in its title`;
        throw new DesktopError(
          'no_window',
          `${program.name} has shown ${which} in ${windowMs} ms${program.said}`,
        );
      }
      await sleep(POLL_MS);
    }
  }

  private async isShown(wanted: string | undefined): Promise<boolean> {
    const { x } = this.display;
    for (const window of await x.windows()) {
      if (!(await x.isShown(window))) continue;
      if (wanted === undefined || (await x.title(window)).includes(wanted)) return true;
    }
    return false;
  }

  /** A ping whose answer does not come in time; null where there is nothing to wait for. */
  private async unansweredPing(timeoutMs: number): Promise<Ping | null> {
    const { x } = this.display;
    const active = await x.activeWindow();
    const ping = active === null ? null : await x.ping(active);
    if (ping === null || (await within(timeoutMs, ping.answered))) return null;
    // A window that was closed in between answers no more.
    return active !== null && !(await x.isShown(active)) ? null : ping;
  }

  private fails(): void {
    const cause = this.cause();
    if (cause !== null) this.fail(cause);
  }

  /** What has ended that should not have: the display first, since without it everything else ends as well. */
  private cause(): DesktopError | null {
    if (this.exceeded !== null) return this.exceeded;
    const { server, manager } = this.display;
    const part = [server, manager].find(({ ending }) => ending !== null);
    if (part !== undefined) return crashed(part.howEnded);
    const { program } = this.shown;
    return (program.ending?.code ?? 0) === 0 && program.ending?.signal == null
      ? null
      : crashed(program.howEnded);
  }

  private watchMemory(): () => void {
    const { memory, options } = this.context;
    const watched = {
      owner: this.seat.owner,
      limitBytes: options.memory_mb * MIB,
      exceeded: (largestPid: number, totalBytes: number) => {
        const used = Math.round(totalBytes / MIB);
        this.exceeded ??= crashed(
          `the desktop uses ${used} MiB, more than the ${options.memory_mb} of memory_mb`,
        );
        this.fail(this.exceeded);
        try {
          process.kill(largestPid, 'SIGKILL');
        } catch {
          // It was faster.
        }
      },
    };
    memory.add(watched);
    return () => memory.remove(watched);
  }
}

/** Programs that cannot be asked are given time. */
async function dealtWith(x: XConnection): Promise<void> {
  const active = await x.activeWindow();
  const ping = active === null ? null : await x.ping(active);
  await (ping === null ? sleep(UNASKED_MS) : within(HUNG_MS, ping.answered));
}

function crashed(what: string): DesktopError {
  return new DesktopError('crashed', what);
}

/** Rejects with `deadline` when it passes, or whoever asked has given up. */
async function before<T>({ deadlineAt, signal }: Deadline, work: () => Promise<T>): Promise<T> {
  const timer = new AbortController();
  const late = new Promise<never>((_, reject) => {
    const refuse = () => reject(new DesktopError('deadline', 'the desktop was too slow for the deadline'));
    if (signal.aborted) refuse();
    signal.addEventListener('abort', refuse, { signal: timer.signal });
    const wait = setTimeout(refuse, Math.max(0, deadlineAt - Date.now()));
    timer.signal.addEventListener('abort', () => clearTimeout(wait));
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([work(), late]);
  } finally {
    timer.abort();
  }
}

/** Whether something happens within a time. */
async function within(milliseconds: number, happens: Promise<void>): Promise<boolean> {
  const timer = new AbortController();
  const passed = sleep(milliseconds, false, { signal: timer.signal }).catch(() => false);
  try {
    return await Promise.race([happens.then(() => true), passed]);
  } finally {
    timer.abort();
  }
}

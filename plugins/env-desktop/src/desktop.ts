import { setTimeout as sleep } from 'node:timers/promises';
import type { Deadline, Screenshot, ZoomAction } from '@ui-rl/plugin-kit';
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
import { Camera, zoomed } from './screenshot';
import { Seat } from './seat';
import type { Ping, XConnection } from './x-connection';

/** State shared by all desktops of an environment. */
export interface DesktopContext {
  programs: DesktopPrograms;
  options: DesktopOptions;
  kernel: ShowOptions['kernel'];
  confines: boolean;
  memory: MemoryWatch;
}

/** Interval of checking the windows of a starting program. */
const POLL_MS = 20;
/** A page disappears before its browser exits. */
const CAUSE_WITHIN_MS = 500;
/** Time within which dependent programs end together. */
const ENDS_TOGETHER_MS = 200;
/** Time without an answer at the end of an episode after which a program counts as hung. */
const HUNG_MS = 5_000;
/**
 * Time after which a page that has answered so far counts as unable to report its state; normally it takes
 * milliseconds.
 */
const TELLS_WITHIN_MS = 2_000;
/** The same for a page that has just missed its time: it may only be slow to draw. */
const TELLS_AT_ONCE_MS = 300;
/** Time after which a program that does not support pings is assumed to have handled its input. */
const UNASKED_MS = 300;
const MIB = 2 ** 20;

/** A desktop with a program on it. */
export class Desktop {
  private readonly failed: Promise<never>;
  private fail: (error: DesktopError) => void = () => undefined;
  private readonly camera: Camera;
  /** A ping that was not answered in time. */
  private unanswered: Ping | null = null;
  /** Whether the page answered its last request in time. */
  private pageAnswers = true;
  /** The error for exceeding the memory limit. */
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

  /** Throws `DesktopError` if any part does not start. */
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

  /** Whether the page or program was closed; a program counts as closed if it exited normally. */
  async isClosed(): Promise<boolean> {
    if (this.shown.isClosed()) return true;
    return this.shown.program.ending?.code === 0 && (await this.display.x.windows()).length === 0;
  }

  /** Runs work on the desktop. Throws a `DesktopError` if the deadline passes or part of the desktop ends. */
  async during<T>(deadline: Deadline, work: () => Promise<T>): Promise<T> {
    return before(deadline, async () => {
      try {
        return await Promise.race([work(), this.failed]);
      } catch (error) {
        if (!(error instanceof DesktopError) || error.code !== 'crashed') throw error;
        // Dependent programs end in any order, and a lost connection is noticed first.
        await sleep(ENDS_TOGETHER_MS);
        throw this.cause() ?? error;
      }
    });
  }

  /**
   * Waits until the screen shows the effect of the last action: the program has handled all events, as far as it can
   * be pinged, and nothing was drawn for a while; at most `settle_ms`.
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
   * Whether the program has answered since the last action. A page's thread that computes, or waits for a dialog,
   * does not answer, while its window still accepts events. A closed page counts as answered.
   */
  get answers(): boolean {
    return (this.unanswered === null && this.pageAnswers) || !this.isThere;
  }

  /** The screen, or the region that a zoom shows. */
  async capture(zoom: ZoomAction | null = null): Promise<Screenshot> {
    const screenshot = await this.camera.take();
    return zoom === null ? screenshot : zoomed(screenshot, zoom);
  }

  /** The state after an action, if reading it is cheap and it arrives in time; otherwise undefined. */
  async stateInBetween(): Promise<State | undefined> {
    if (!this.shown.tellsState || !this.isThere) return undefined;
    const limitMs = this.answers ? TELLS_WITHIN_MS : TELLS_AT_ONCE_MS;
    return this.askPage(limitMs, (givenUp) => this.shown.state(givenUp));
  }

  /** The state for the verifier; undefined if the program has ended. Throws if it hangs. */
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

  /**
   * Dismisses a dialog that blocks the page, so that an episode that ends with an open dialog can still be judged.
   */
  async dismissDialog(): Promise<void> {
    if (!this.pageAnswers && this.isThere) await this.hands.keyboard.chord(['escape']);
  }

  private hung(how: string): DesktopError {
    const { name, said } = this.shown.program;
    return new DesktopError('hung', `${name} ${how}${said}`);
  }

  /** The page's answer; undefined if it does not answer in time or is closing. */
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

  /** A request to a program that is being closed gets no answer, which is not a failure. */
  private async unlessClosed<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!this.shown.isClosed()) throw error;
      // The exit status distinguishes a crash from a normal exit.
      await Promise.race([this.shown.program.ended, sleep(CAUSE_WITHIN_MS)]);
      return undefined;
    }
  }

  /** Ends all programs. Never throws. */
  async end(): Promise<void> {
    this.disconnect();
    await this.seat.end();
  }

  private disconnect(): void {
    this.unwatch();
    this.display.x.close();
  }

  /** Waits for the window, and sets the initial state. */
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

  /** A ping that is not answered in time; null if there is nothing to wait for. */
  private async unansweredPing(timeoutMs: number): Promise<Ping | null> {
    const { x } = this.display;
    const active = await x.activeWindow();
    const ping = active === null ? null : await x.ping(active);
    if (ping === null || (await within(timeoutMs, ping.answered))) return null;
    // A window that was closed meanwhile does not answer.
    return active !== null && !(await x.isShown(active)) ? null : ping;
  }

  private fails(): void {
    const cause = this.cause();
    if (cause !== null) this.fail(cause);
  }

  /** The part that ended unexpectedly: the display first, since all others depend on it. */
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
          // It has already exited.
        }
      },
    };
    memory.add(watched);
    return () => memory.remove(watched);
  }
}

/** Gives time to programs that do not support pings. */
async function dealtWith(x: XConnection): Promise<void> {
  const active = await x.activeWindow();
  const ping = active === null ? null : await x.ping(active);
  await (ping === null ? sleep(UNASKED_MS) : within(HUNG_MS, ping.answered));
}

function crashed(what: string): DesktopError {
  return new DesktopError('crashed', what);
}

/** Rejects with `deadline` when it passes, or when the caller aborts. */
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

/** Whether a promise resolves within the given time. */
async function within(milliseconds: number, happens: Promise<void>): Promise<boolean> {
  const timer = new AbortController();
  const passed = sleep(milliseconds, false, { signal: timer.signal }).catch(() => false);
  try {
    return await Promise.race([happens.then(() => true), passed]);
  } finally {
    timer.abort();
  }
}

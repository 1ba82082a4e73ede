/** Name of the global through which the environment suspends the timers of a page. */
export const TIMERS = '__uirlTimers';

/** How long a page may still finish what the last episode has begun, such as an animation. */
const FINISHING_MS = 1_000;

/**
 * Runs in a document before its own scripts, so that its timers can be suspended: a page that waits for its next
 * episode then needs no processor time. `window.__uirlTimers`:
 * - `suspend()` after an episode: from 1 s later on, no timer, frame callback or idle callback runs, and endless
 *   animations stand still,
 * - `resume()` before a reset: timeouts that came due meanwhile run at once, in their order. The others continue with
 *   the time that was left, intervals with a full period.
 *
 * The page keeps its ids. Timers whose handler is a string are not suspended.
 */
export const TIMERS_SCRIPT = `(() => {
  const { apply } = Reflect;
  const { setTimeout: later, clearTimeout: cancel, reportError } = window;
  const { getAnimations } = Document.prototype;
  const { updatePlaybackRate } = Animation.prototype;
  const now = performance.now.bind(performance);
  let isSuspended = false;
  let suspending;
  /** The endless animations that stand still → their rates. */
  const still = new Map();

  /** @param pending the callbacks that have yet to run, by the id that the page knows */
  function suspendable(pending, start, stop, { isTimed = false, repeats = false } = {}) {
    const [begin, end] = [window[start], window[stop]];
    window[start] = function (callback, ...rest) {
      if (typeof callback !== 'function') return apply(begin, window, [callback, ...rest]);
      const run = function (...args) {
        if (!repeats) pending.delete(id);
        return apply(callback, this, args);
      };
      const id = apply(begin, window, [run, ...rest]);
      const [delay, ...args] = rest;
      let native = id;
      pending.set(id, {
        due: isTimed && !repeats ? now() + Math.max(0, delay | 0) : Infinity,
        run: () => apply(run, window, args),
        suspend: () => apply(end, window, [native]),
        resume() {
          const left = this.due === Infinity ? rest : [this.due - now(), ...args];
          native = apply(begin, window, [run, ...left]);
        },
      });
      if (isSuspended) apply(end, window, [id]);
      return id;
    };
    window[stop] = function (id) {
      const timer = pending.get(id);
      pending.delete(id);
      return timer === undefined ? apply(end, window, [id]) : timer.suspend();
    };
  }
  const [timers, frames, idles] = [new Map(), new Map(), new Map()];
  // Either of the two stops what the other has started.
  suspendable(timers, 'setTimeout', 'clearTimeout', { isTimed: true });
  suspendable(timers, 'setInterval', 'clearInterval', { isTimed: true, repeats: true });
  suspendable(frames, 'requestAnimationFrame', 'cancelAnimationFrame');
  suspendable(idles, 'requestIdleCallback', 'cancelIdleCallback');
  const kinds = [timers, frames, idles];

  function stop() {
    isSuspended = true;
    for (const pending of kinds) for (const timer of pending.values()) timer.suspend();
    for (const each of apply(getAnimations, document, [])) {
      const isEndless = each.playState === 'running' && each.effect?.getComputedTiming().endTime === Infinity;
      if (!isEndless || each.playbackRate === 0) continue;
      still.set(each, each.playbackRate);
      apply(updatePlaybackRate, each, [0]);
    }
  }

  function resume() {
    cancel(suspending);
    if (!isSuspended) return;
    isSuspended = false;
    for (const [each, rate] of still) apply(updatePlaybackRate, each, [rate]);
    still.clear();
    const at = now();
    const held = kinds.flatMap((pending) => [...pending].map(([id, timer]) => ({ pending, id, timer })));
    const isHeld = ({ pending, id, timer }) => pending.get(id) === timer;
    for (const each of held.filter(({ timer }) => timer.due <= at).sort((a, b) => a.timer.due - b.timer.due)) {
      // An earlier one may have stopped it.
      if (!isHeld(each)) continue;
      try {
        each.timer.run();
      } catch (error) {
        reportError(error);
      }
    }
    for (const each of held) if (isHeld(each)) each.timer.resume();
  }

  function suspend() {
    cancel(suspending);
    suspending = later(stop, ${FINISHING_MS});
  }

  Object.defineProperty(window, '${TIMERS}', { value: { suspend, resume } });
})();`;

import { setTimeout as sleep } from 'node:timers/promises';
import { DEADLINES, type Point } from '@ui-rl/plugin-kit';
import type { BrowserTab } from './browser-tab';
import { FrameWalk, type FrameDocument } from './frame-walk';

/** Maximum depth of nested frames. */
const MAX_DEPTH = 8;
/** How long a frame may take to receive the pointer event before the pointer moves again. */
const FELT_MS = 20;
/** Unanswered moves after which the page is redrawn. */
const MOVES_PER_DRAWING = 5;

/** A function of a point in the viewport of a document: the element that a click there would hit. */
const HIT = `(x, y) => {
  let hit = document.elementFromPoint(x, y);
  for (let inner = hit; inner !== null && inner.shadowRoot !== null; ) {
    inner = inner.shadowRoot.elementFromPoint(x, y);
    if (inner === null || inner === hit) break;
    hit = inner;
  }
  return hit;
}`;

/** The same, converted to the viewport of the frame that the element shows; null if it shows none. */
const HIT_INSIDE = `(x, y) => {
  const frame = (${HIT})(x, y);
  if (frame === null || !/^(iframe|frame|object|embed|fencedframe)$/.test(frame.localName)) return null;
  const box = frame.getBoundingClientRect(), style = getComputedStyle(frame);
  const scaleX = frame.offsetWidth > 0 ? box.width / frame.offsetWidth : 1;
  const scaleY = frame.offsetHeight > 0 ? box.height / frame.offsetHeight : 1;
  return [
    (x - box.left) / scaleX - frame.clientLeft - parseFloat(style.paddingLeft),
    (y - box.top) / scaleY - frame.clientTop - parseFloat(style.paddingTop),
  ];
}`;

const FELT = `new Promise((felt) => {
  addEventListener('mousemove', () => felt(true), { capture: true, once: true });
})`;

/**
 * Moves the pointer over a point. If a cross-site frame is there, waits until the frame receives the event: a
 * screenshot at another size than the viewport's (any `scale` other than the device's, any device) recreates the
 * surfaces of such frames, and until they are drawn the enclosing page gets their input. Returns whether there is
 * such a frame.
 */
export async function reachFrame(tab: BrowserTab, point: Point): Promise<boolean> {
  if (tab.page.frames().length === 1) return false;
  const walk = new FrameWalk(tab.page, tab.cdp);
  try {
    const frame = await frameAt(walk, point);
    if (frame.session === tab.cdp) return false;
    await feelsPointer(walk, frame, tab, point);
    return true;
  } catch {
    // The frame was removed meanwhile; the action itself reports any other problem.
    return false;
  } finally {
    await walk.end();
  }
}

/** The innermost document at a point. */
async function frameAt(walk: FrameWalk, point: Point): Promise<FrameDocument> {
  let at = await walk.top();
  let within = point;
  for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
    const place = within.join(', ');
    const inside = await walk.evaluate<Point | null>(at, `(${HIT_INSIDE})(${place})`);
    const frame = inside === null ? null : await walk.into(at, `(${HIT})(${place})`);
    if (inside === null || frame === null) return at;
    [at, within] = [frame, inside];
  }
  return at;
}

async function feelsPointer(
  walk: FrameWalk,
  frame: FrameDocument,
  tab: BrowserTab,
  [x, y]: Point,
): Promise<void> {
  // A failure means that the frame is gone, so there is nothing to wait for.
  const felt = walk.evaluate(frame, FELT).then(
    () => true,
    () => true,
  );
  const until = performance.now() + DEADLINES.browserFrame.ms;
  for (let moves = 1; performance.now() < until; moves++) {
    await tab.cdp.send('Input.dispatchMouseEvent', { type: 'mouseMoved', x, y });
    if (await Promise.race([felt, sleep(FELT_MS, false)])) return;
    if (moves % MOVES_PER_DRAWING === 0) drawAnew(tab);
  }
}

/**
 * Chromium hit-tests in the last drawn frame. On a busy machine that may be older than the screenshot, and an
 * unchanged page is not redrawn. Not awaited: a navigation may lose the answer.
 */
function drawAnew({ cdp }: BrowserTab): void {
  cdp.send('Page.captureScreenshot', { format: 'jpeg', quality: 1 }).catch(() => undefined);
}

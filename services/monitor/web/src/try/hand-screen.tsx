import { useEffect, useRef, useState, type PointerEvent } from 'preact/compat';
import { Badge, Card, Problem } from '../ui';
import { screenshotUrl, send, type Action, type View } from './live';
import { heldOf, isLeave, isText, keysOf } from './keys';
import { useGestures } from './gestures';
import { shapeOf } from './turns';

/** CSS pixels per unit of a wheel event: pixels, lines, pages. */
const PIXELS_OF_WHEEL = [1, 100 / 3, 800];

/** The interactive screenshot: input on it is performed on the page. */
export function HandScreen({ view }: { view: View }) {
  const [error, setError] = useState<string | null>(null);
  const image = useRef<HTMLImageElement>(null);
  const say = (problem: Error) => setError(problem.message);
  const act = (action: Action) => {
    setError(null);
    send('action', { action }).catch(say);
  };
  const { size } = view;
  const gestures = useGestures(act, () => size!.width / image.current!.getBoundingClientRect().width);
  const at = (event: { clientX: number; clientY: number }): [number, number] => {
    const box = image.current!.getBoundingClientRect();
    const place = (offset: number, length: number, pixels: number) =>
      Math.min(pixels - 1, Math.max(0, Math.floor((offset / length) * pixels)));
    return [
      place(event.clientX - box.left, box.width, size!.width),
      place(event.clientY - box.top, box.height, size!.height),
    ];
  };
  const controls = useRef<HTMLSpanElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    if (isLeave(event)) {
      gestures.flush();
      controls.current?.querySelector('button')?.focus();
    } else if (isText(event)) gestures.typed(event.key);
    else if (event.key === 'Backspace' && gestures.takeBack()) event.preventDefault();
    else {
      const keys = keysOf(event);
      // Pasting arrives as a separate event.
      if (keys === null || keys.join() === 'ctrl,v' || keys.join() === 'meta,v') return;
      gestures.flush();
      act({ action: 'key', keys });
    }
    event.preventDefault();
  };
  const onPointerDown = (event: PointerEvent<HTMLDivElement>) => {
    if (event.button !== 0) return;
    // A drag may leave the picture.
    event.currentTarget.setPointerCapture(event.pointerId);
    gestures.pressed(at(event), heldOf(event));
  };
  const onPointerUp = (event: PointerEvent<HTMLDivElement>) => {
    if (event.button === 0) gestures.released(at(event));
  };
  const onContextMenu = (event: MouseEvent) => {
    event.preventDefault();
    // With the left button, this is Ctrl and a click on macOS.
    const isLeft = event.button === 0;
    if (isLeft) gestures.forget();
    gestures.rightClicked(at(event), isLeft ? [] : heldOf(event));
  };
  const hand = useRef<HTMLDivElement>(null);
  const onWheel = useRef((_: WheelEvent): void => undefined);
  onWheel.current = (event) => {
    // Scroll the displayed page instead of this one.
    event.preventDefault();
    const pixels = PIXELS_OF_WHEEL[event.deltaMode] ?? 1;
    // Browsers turn Shift and the wheel into scrolling to the side.
    const held = heldOf(event).filter((key) => key !== 'shift' || event.deltaX === 0);
    gestures.scrolled(at(event), event.deltaX * pixels, event.deltaY * pixels, held);
  };
  useEffect(() => {
    const element = hand.current!;
    const listener = (event: WheelEvent) => onWheel.current(event);
    // React's own listeners cannot prevent a page from scrolling.
    element.addEventListener('wheel', listener, { passive: false });
    return () => element.removeEventListener('wheel', listener);
  }, []);
  // Only at the beginning: later, the focus is where the person has put it.
  useEffect(() => hand.current?.focus({ preventScroll: true }), []);
  const done = () => {
    gestures.flush();
    send('done', {}).catch(say);
  };
  // Stays focusable while it undoes: a disabled button would lose the focus.
  const undo = () => {
    if (!view.canUndo) return;
    setError(null);
    gestures.flush();
    send('undo', {}).catch(say);
  };
  return (
    <Card
      title="Do it here"
      aside={
        <span className="buttons" ref={controls}>
          <button type="button" aria-disabled={!view.canUndo} onClick={undo}>
            Undo
          </button>
          <button type="button" onClick={() => act({ action: 'wait', seconds: 1 })}>
            Wait a second
          </button>
          <button type="button" onClick={() => act({ action: 'button', button: 'back' })}>
            Back
          </button>
          <button type="button" className="primary" onClick={done}>
            I’m done
          </button>
        </span>
      }
    >
      <div
        className="hand"
        role="application"
        aria-label="The page"
        tabIndex={0}
        ref={hand}
        style={shapeOf(size!)}
        onKeyDown={onKeyDown}
        onPaste={(event) => gestures.typed(event.clipboardData?.getData('text/plain') ?? '')}
        onPointerDown={onPointerDown}
        onPointerMove={(event) => gestures.moved(at(event))}
        onPointerUp={onPointerUp}
        onContextMenu={onContextMenu}
        onPointerCancel={() => gestures.forget()}
      >
        <img
          ref={image}
          src={screenshotUrl(view.screenshot!)}
          alt="The page"
          draggable={false}
          width={size!.width}
          height={size!.height}
        />
        {gestures.text !== '' && (
          <span className="words">
            {view.isSecretFocus ? '•'.repeat(gestures.text.length) : gestures.text}
          </span>
        )}
      </div>
      <Problem error={error} />
      <p className="note">
        Click, drag, scroll and type on the picture: each becomes an action as an agent’s would, also while
        you hold Ctrl, Shift, Alt or Meta. A drag keeps the bends of its path. Keys, Tab too, go to the page;
        Ctrl+M leaves the picture. Undo opens the page again and repeats all but the last action.
        {view.isSecretFocus && <Badge tone="warn">what you type now is kept out of files and logs</Badge>}
      </p>
    </Card>
  );
}

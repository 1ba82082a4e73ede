import { useRef, useState, type KeyboardEvent, type MouseEvent, type PointerEvent } from 'react';
import { Badge, Card, Problem } from '../ui';
import { screenshotUrl, send, type Action, type View } from './live';
import { isText, keysOf } from './keys';
import { useGestures } from './gestures';

/** The screenshot as something to be operated: what is done on it is done on the page. */
export function HandScreen({ view }: { view: View }) {
  const [error, setError] = useState<string | null>(null);
  const image = useRef<HTMLImageElement>(null);
  const say = (problem: Error) => setError(problem.message);
  const act = (action: Action) => {
    setError(null);
    send('action', { action }).catch(say);
  };
  const gestures = useGestures(act);
  const { size } = view;
  const at = (event: { clientX: number; clientY: number }): [number, number] => {
    const box = image.current!.getBoundingClientRect();
    const place = (offset: number, length: number, pixels: number) =>
      Math.min(pixels - 1, Math.max(0, Math.floor((offset / length) * pixels)));
    return [
      place(event.clientX - box.left, box.width, size!.width),
      place(event.clientY - box.top, box.height, size!.height),
    ];
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (isText(event)) gestures.typed(event.key);
    else if (event.key === 'Backspace' && gestures.takeBack()) event.preventDefault();
    else {
      const keys = keysOf(event);
      // Pasting comes as an event of its own.
      if (keys === null || keys.join() === 'ctrl,v' || keys.join() === 'meta,v') return;
      gestures.flush();
      act({ action: 'key', keys });
    }
    event.preventDefault();
  };
  const onPointerDown = (event: PointerEvent) => {
    if (event.button === 0) gestures.pressed(at(event));
  };
  const onPointerUp = (event: PointerEvent) => {
    if (event.button === 0) gestures.released(at(event));
  };
  const onContextMenu = (event: MouseEvent) => {
    event.preventDefault();
    const [x, y] = at(event);
    gestures.flush();
    act({ action: 'right_click', x, y });
  };
  const done = () => {
    gestures.flush();
    send('done', {}).catch(say);
  };
  return (
    <Card
      title="Do it here"
      aside={
        <span className="buttons">
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
        ref={(element) => element?.focus({ preventScroll: true })}
        onKeyDown={onKeyDown}
        onPaste={(event) => gestures.typed(event.clipboardData.getData('text/plain'))}
        onPointerDown={onPointerDown}
        onPointerUp={onPointerUp}
        onContextMenu={onContextMenu}
        onWheel={(event) => gestures.scrolled(at(event), event.deltaX, event.deltaY)}
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
        Click, drag, scroll and type on the picture: each becomes an action as an agent’s would.
        {view.isSecretFocus && <Badge tone="warn">what you type now is kept out of files and logs</Badge>}
      </p>
    </Card>
  );
}

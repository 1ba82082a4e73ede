import { useEffect, useRef, useState } from 'react';
import type { Action } from './live';

type Point = [number, number];

/** Pause after the last key, in ms, at which typed text becomes one action. */
const TYPING_MS = 700;
/** Clicks at one point within this time form one action. */
const CLICKS_MS = 300;
const SCROLL_MS = 200;
/** Duration of a press that counts as a long press. */
const LONG_MS = 700;
/**
 * Minimum movement of a drag, in CSS pixels of the displayed picture: hands are not steadier on a smaller picture.
 */
const DRAG = 6;
const CLICKS = ['click', 'double_click', 'triple_click'];
/** Wheel delta per notch, in CSS pixels. */
const NOTCH = 100;
const MAX_NOTCHES = 50;

export interface Gestures {
  /** The text being typed. */
  text: string;
  typed(text: string): void;
  /** Removes the last unsent character; false if there is none. */
  takeBack(): boolean;
  pressed(at: Point): void;
  released(at: Point): void;
  /** Cancels the current press. */
  forget(): void;
  scrolled(at: Point, deltaX: number, deltaY: number): void;
  /** Sends the collected input. */
  flush(): void;
}

/**
 * Combines input events to actions: characters to texts, clicks to double clicks, wheel events to notches.
 *
 * @param scale pixels of the screenshot per CSS pixel of the displayed picture
 */
export function useGestures(act: (action: Action) => void, scale: () => number): Gestures {
  const [text, setText] = useState('');
  const collected = useRef<Collector>(null);
  collected.current ??= new Collector(setText);
  collected.current.act = act;
  collected.current.scale = scale;
  useEffect(() => () => collected.current?.flush(), []);
  return { text, ...collected.current.gestures };
}

class Collector {
  act: (action: Action) => void = () => undefined;
  scale = (): number => 1;
  private text = '';
  private down: { at: Point; since: number } | null = null;
  private clicks: { at: Point; count: number } | null = null;
  private wheel: { at: Point; x: number; y: number } | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  readonly gestures: Omit<Gestures, 'text'> = {
    typed: (text) => {
      if (text === '') return;
      if (this.text === '') this.flush();
      this.write(this.text + text);
      this.flushIn(TYPING_MS);
    },
    takeBack: () => {
      if (this.text === '') return false;
      this.write(Array.from(this.text).slice(0, -1).join(''));
      this.flushIn(TYPING_MS);
      return true;
    },
    pressed: (at) => (this.down = { at, since: Date.now() }),
    released: (at) => this.released(at),
    forget: () => (this.down = null),
    scrolled: (at, deltaX, deltaY) => {
      if (this.wheel === null) this.flush();
      const { x = 0, y = 0 } = this.wheel ?? {};
      this.wheel = { at, x: x + deltaX, y: y + deltaY };
      this.flushIn(SCROLL_MS);
    },
    flush: () => this.flush(),
  };

  constructor(private readonly onText: (text: string) => void) {}

  flush(): void {
    clearTimeout(this.timer);
    const { text, clicks, wheel } = this;
    this.write('');
    this.clicks = null;
    this.wheel = null;
    if (text !== '') this.act({ action: 'type', text });
    if (clicks !== null) this.act({ action: CLICKS[clicks.count - 1], x: clicks.at[0], y: clicks.at[1] });
    if (wheel !== null) this.scroll(wheel);
  }

  private released(at: Point): void {
    const { down } = this;
    this.down = null;
    if (down === null) return;
    if (distance(down.at, at) > DRAG * this.scale()) {
      this.flush();
      this.act({ action: 'drag', from: down.at, to: at });
    } else if (Date.now() - down.since >= LONG_MS) {
      this.flush();
      this.act({ action: 'long_press', x: down.at[0], y: down.at[1] });
    } else this.clicked(down.at);
  }

  private clicked(at: Point): void {
    const before = this.clicks;
    const isSame =
      before !== null && before.count < CLICKS.length && distance(before.at, at) <= DRAG * this.scale();
    if (!isSame) this.flush();
    this.clicks = isSame ? { at: before.at, count: before.count + 1 } : { at, count: 1 };
    this.flushIn(CLICKS_MS);
  }

  private scroll({ at: [x, y], x: deltaX, y: deltaY }: { at: Point; x: number; y: number }): void {
    const isDown = Math.abs(deltaY) >= Math.abs(deltaX);
    const delta = isDown ? deltaY : deltaX;
    const direction = isDown ? (delta > 0 ? 'down' : 'up') : delta > 0 ? 'right' : 'left';
    const amount = Math.min(MAX_NOTCHES, Math.max(1, Math.round(Math.abs(delta) / NOTCH)));
    this.act({ action: 'scroll', direction, amount, x, y });
  }

  private write(text: string): void {
    this.text = text;
    this.onText(text);
  }

  private flushIn(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), ms);
  }
}

function distance([ax, ay]: Point, [bx, by]: Point): number {
  return Math.hypot(ax - bx, ay - by);
}

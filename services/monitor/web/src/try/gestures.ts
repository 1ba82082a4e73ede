import { useEffect, useRef, useState } from 'preact/compat';
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
/** Points of a drag between its start and its end: as many as the policy can answer with. */
const MAX_VIA = 8;

/** Names of the modifiers that are held. */
export type Held = readonly string[];

interface Press {
  /** From the point that was pressed. */
  path: Point[];
  since: number;
  held: Held;
}

interface Clicks {
  at: Point;
  count: number;
  held: Held;
}

interface Wheel {
  at: Point;
  x: number;
  y: number;
  held: Held;
}

export interface Gestures {
  /** The text being typed. */
  text: string;
  typed(text: string): void;
  /** Removes the last unsent character; false if there is none. */
  takeBack(): boolean;
  /** @param held modifiers, as of the other actions of the pointer */
  pressed(at: Point, held: Held): void;
  /** The pointer moves, pressed or not. */
  moved(at: Point): void;
  released(at: Point): void;
  /** Cancels the current press. */
  forget(): void;
  rightClicked(at: Point, held: Held): void;
  scrolled(at: Point, deltaX: number, deltaY: number, held: Held): void;
  /** Sends the collected input. */
  flush(): void;
}

/**
 * Combines input events to actions: characters to texts, clicks to double clicks, movements to drags, wheel events to
 * notches.
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
  private down: Press | null = null;
  private clicks: Clicks | null = null;
  private wheel: Wheel | null = null;
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
    pressed: (at, held) => (this.down = { path: [at], since: Date.now(), held }),
    moved: (at) => this.down?.path.push(at),
    released: (at) => this.released(at),
    forget: () => (this.down = null),
    rightClicked: ([x, y], held) => {
      this.flush();
      this.act({ action: 'right_click', x, y, ...holding(held) });
    },
    scrolled: (at, deltaX, deltaY, held) => {
      if (this.wheel?.held.join() !== held.join()) this.flush();
      const { x = 0, y = 0 } = this.wheel ?? {};
      this.wheel = { at, x: x + deltaX, y: y + deltaY, held };
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
    if (clicks !== null) {
      const { at, count, held } = clicks;
      this.act({ action: CLICKS[count - 1], x: at[0], y: at[1], ...holding(held) });
    }
    if (wheel !== null) this.scroll(wheel);
  }

  private released(to: Point): void {
    const { down } = this;
    this.down = null;
    if (down === null) return;
    const { held, since } = down;
    const [from, ...between] = down.path;
    const near = DRAG * this.scale();
    if ([...between, to].some((point) => distance(from, point) > near)) {
      this.flush();
      const via = bends([from, ...between, to], near / 2);
      this.act({ action: 'drag', from, ...(via.length === 0 ? {} : { via }), to, ...holding(held) });
    } else if (Date.now() - since >= LONG_MS) {
      this.flush();
      this.act({ action: 'long_press', x: from[0], y: from[1] });
    } else this.clicked(from, held);
  }

  private clicked(at: Point, held: Held): void {
    const before = this.clicks;
    const isSame =
      before !== null &&
      before.count < CLICKS.length &&
      before.held.join() === held.join() &&
      distance(before.at, at) <= DRAG * this.scale();
    if (!isSame) this.flush();
    this.clicks = isSame ? { ...before, count: before.count + 1 } : { at, count: 1, held };
    this.flushIn(CLICKS_MS);
  }

  private scroll({ at: [x, y], x: deltaX, y: deltaY, held }: Wheel): void {
    const isDown = Math.abs(deltaY) >= Math.abs(deltaX);
    const delta = isDown ? deltaY : deltaX;
    const direction = isDown ? (delta > 0 ? 'down' : 'up') : delta > 0 ? 'right' : 'left';
    const amount = Math.min(MAX_NOTCHES, Math.max(1, Math.round(Math.abs(delta) / NOTCH)));
    this.act({ action: 'scroll', direction, amount, x, y, ...holding(held) });
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

function holding(held: Held): { modifiers?: Held } {
  return held.length === 0 ? {} : { modifiers: held };
}

/**
 * The points between the ends of a path that a straight line would miss, at most `MAX_VIA` (Douglas and Peucker 1973).
 *
 * @param near distance in pixels within which a line meets a point
 */
function bends(path: readonly Point[], near: number): Point[] {
  const found = bendsWithin(path, near);
  return found.length > MAX_VIA ? bends(path, near * 1.5) : found;
}

function bendsWithin(path: readonly Point[], near: number): Point[] {
  const [from, to] = [path[0], path[path.length - 1]];
  const away = path.map((point) => distanceToLine(point, from, to));
  const furthest = away.indexOf(Math.max(...away));
  if (!(away[furthest] > near)) return [];
  return [
    ...bendsWithin(path.slice(0, furthest + 1), near),
    path[furthest],
    ...bendsWithin(path.slice(furthest), near),
  ];
}

function distanceToLine([x, y]: Point, from: Point, to: Point): number {
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const length = dx * dx + dy * dy;
  const part = length === 0 ? 0 : ((x - from[0]) * dx + (y - from[1]) * dy) / length;
  const place = Math.min(1, Math.max(0, part));
  return distance([x, y], [from[0] + place * dx, from[1] + place * dy]);
}

function distance([ax, ay]: Point, [bx, by]: Point): number {
  return Math.hypot(ax - bx, ay - by);
}

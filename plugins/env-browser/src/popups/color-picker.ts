import type { Point } from '@ui-rl/plugin-kit';
import { hexOf, hsvOf, readHex, rgbOf, type Hsv, type Rgb } from './colors';
import type { ColorControl } from './control';
import { isWithin, NOTHING, type Area, type Box, type Effect, type PaintOp, type Popup } from './popup';
import { COLORS, Sketch } from './sketch';

const SQUARE: Box = { x: 0, y: 0, width: 232, height: 138 };
const HUES: Box = { x: 84, y: 152, width: 132, height: 16 };
const FIELDS: Box = { x: 24, y: 184, width: 56, height: 32 };
const FIELD_GAP = 8;
const NAMES = ['R', 'G', 'B'];
const RAINBOW = ['#ff0000', '#ffff00', '#00ff00', '#00ffff', '#0000ff', '#ff00ff', '#ff0000'];

/**
 * The color picker: a saturation and value square, a hue bar, and red, green and blue fields that accept digits. It
 * stays open until a press elsewhere or Enter.
 */
export class ColorPicker implements Popup {
  readonly name = 'color picker';
  readonly size = { width: SQUARE.width, height: 250 };
  private color: Hsv;
  private focused: number | null = null;
  private typed = '';

  constructor(private readonly control: ColorControl) {
    this.color = hsvOf(readHex(control.value));
  }

  paint(): PaintOp[] {
    return this.draw().ops;
  }

  areas(): Area[] {
    return this.draw().areas;
  }

  move(): void {
    // Nothing reacts to pointer movement.
  }

  drag(from: Point, to: Point): Effect | null {
    if (isWithin(from, SQUARE)) return this.pickShade(to);
    return isWithin(from, HUES) ? this.pickHue(to) : null;
  }

  scroll(): boolean {
    return false;
  }

  key(name: string): Effect {
    if (name === 'escape') return { choice: { value: this.control.value, isFinal: true }, closes: true };
    if (name === 'enter') return this.leave();
    if (name === 'tab') this.focus(((this.focused ?? -1) + 1) % NAMES.length);
    if (name === 'backspace' && this.focused !== null) return this.write(this.typed.slice(0, -1));
    return NOTHING;
  }

  type(character: string): Effect {
    return this.focused === null || !/\d/.test(character) ? NOTHING : this.write(this.typed + character);
  }

  leave(): Effect {
    return { choice: { value: this.hex, isFinal: true }, closes: true };
  }

  private get rgb(): Rgb {
    return rgbOf(this.color);
  }

  private get hex(): string {
    return hexOf(this.rgb);
  }

  private pick(color: Hsv): Effect {
    this.color = color;
    return { choice: { value: this.hex, isFinal: false } };
  }

  private pickShade([x, y]: Point): Effect {
    this.focused = null;
    return this.pick({
      hue: this.color.hue,
      saturation: part(x, SQUARE.x, SQUARE.width),
      value: 1 - part(y, SQUARE.y, SQUARE.height),
    });
  }

  private pickHue([x]: Point): Effect {
    this.focused = null;
    return this.pick({ ...this.color, hue: 360 * part(x, HUES.x, HUES.width) });
  }

  private focus(index: number): void {
    this.focused = index;
    this.typed = '';
  }

  /** Typing replaces a field's number, beginning with its first digit. */
  private write(text: string): Effect {
    this.typed = text.slice(-3);
    const rgb = this.rgb;
    rgb[this.focused!] = Math.min(255, Number(this.typed));
    return this.pick(hsvOf(rgb, this.color.hue));
  }

  private draw(): Sketch {
    const sketch = new Sketch();
    sketch.add({ op: 'fill', box: { x: 0, y: 0, ...this.size }, color: COLORS.background });
    this.drawShades(sketch);
    this.drawHues(sketch);
    for (const index of NAMES.keys()) this.drawField(sketch, index);
    sketch.add({ op: 'frame', box: { x: 0, y: 0, ...this.size }, color: COLORS.border });
    return sketch;
  }

  private drawShades(sketch: Sketch): void {
    const { hue, saturation, value } = this.color;
    const pure = hexOf(rgbOf({ hue, saturation: 1, value: 1 }));
    sketch.add(
      { op: 'ramp', box: SQUARE, colors: ['#ffffff', pure], isVertical: false },
      { op: 'ramp', box: SQUARE, colors: ['rgba(0, 0, 0, 0)', '#000000'], isVertical: true },
      {
        ...{ op: 'disc', radius: 6, color: this.hex, border: '#ffffff' },
        at: [SQUARE.x + saturation * (SQUARE.width - 1), SQUARE.y + (1 - value) * (SQUARE.height - 1)],
      },
    );
    sketch.button(SQUARE, `shades of ${pure}`, (at) => this.pickShade(at));
  }

  private drawHues(sketch: Sketch): void {
    const middle = HUES.y + HUES.height / 2;
    const at = HUES.x + (this.color.hue / 360) * (HUES.width - 1);
    sketch.add(
      { op: 'disc', at: [58, middle], radius: 16, color: this.hex },
      { op: 'ramp', box: HUES, colors: RAINBOW, isVertical: false },
      {
        op: 'disc',
        at: [at, middle],
        radius: 7,
        color: hexOf(rgbOf({ ...this.color, saturation: 1, value: 1 })),
        border: '#ffffff',
      },
    );
    sketch.button(HUES, 'hues', (point) => this.pickHue(point));
  }

  private drawField(sketch: Sketch, index: number): void {
    const box = { ...FIELDS, x: FIELDS.x + index * (FIELDS.width + FIELD_GAP) };
    const text = this.focused === index && this.typed !== '' ? this.typed : String(this.rgb[index]);
    const middle = box.x + box.width / 2;
    sketch.add({ op: 'frame', box, color: this.focused === index ? COLORS.accent : COLORS.border });
    sketch.text(text, [middle, box.y + box.height / 2], COLORS.text);
    sketch.text(NAMES[index], [middle, box.y + box.height + 16], COLORS.text);
    sketch.button(box, `${NAMES[index]} ${text}`, () => {
      this.focus(index);
      return NOTHING;
    });
  }
}

/** Position within a length, from 0 at its first pixel to 1 at its last. */
function part(at: number, start: number, length: number): number {
  return Math.max(0, Math.min(1, (Math.floor(at) - start) / (length - 1)));
}

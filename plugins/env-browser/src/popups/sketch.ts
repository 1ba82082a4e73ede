import type { Point } from '@ui-rl/plugin-kit';
import type { Area, Box, Effect, PaintOp } from './popup';

export const COLORS = {
  background: '#ffffff',
  border: '#bfbfbf',
  text: '#101010',
  muted: '#767676',
  disabled: '#c3c3c3',
  accent: '#0075ff',
  onAccent: '#ffffff',
  link: '#0069c2',
};

export const FONT = '12px sans-serif';
export const BOLD = 'bold 12px sans-serif';

/** Style of a cell, and its name if the label is not sufficient. */
export interface CellStyle {
  name?: string;
  font?: string;
  color?: string;
  isSelected?: boolean;
  isDisabled?: boolean;
  /** Framed, like today's date. */
  isMarked?: boolean;
  align?: 'left' | 'center';
}

/** The drawing of a popup together with its clickable parts. */
export class Sketch {
  readonly ops: PaintOp[] = [];
  readonly areas: Area[] = [];

  add(...ops: PaintOp[]): void {
    this.ops.push(...ops);
  }

  text(
    text: string,
    at: Point,
    color: string,
    font = FONT,
    align: 'left' | 'center' | 'right' = 'center',
  ): void {
    this.add({ op: 'text', text, at, font, color, align });
  }

  /** A selectable value. */
  cell(box: Box, label: string, style: CellStyle, press: () => Effect): void {
    const { isSelected = false, isDisabled = false, isMarked = false, align = 'center' } = style;
    if (isSelected) this.add({ op: 'fill', box: inset(box, 1), color: COLORS.accent });
    if (isMarked) this.add({ op: 'frame', box: inset(box, 1), color: COLORS.text });
    const color = isSelected ? COLORS.onAccent : isDisabled ? COLORS.disabled : (style.color ?? COLORS.text);
    const x = align === 'left' ? box.x + 6 : box.x + box.width / 2;
    this.text(label, [x, box.y + box.height / 2], color, isSelected ? BOLD : style.font, align);
    this.area({ box, role: 'option', name: style.name ?? label, isSelected, isDisabled }, press);
  }

  /** A button whose picture is drawn separately. */
  button(box: Box, name: string, press: (at: Point) => Effect): void {
    this.area({ box, role: 'button', name, isSelected: false, isDisabled: false }, press);
  }

  private area(
    {
      box,
      role,
      name,
      isSelected,
      isDisabled,
    }: Pick<Area, 'box' | 'role' | 'name'> & Record<'isSelected' | 'isDisabled', boolean>,
    press: (at: Point) => Effect,
  ): void {
    const state = isDisabled ? 'disabled' : isSelected ? 'selected' : undefined;
    this.areas.push({
      ...{ box, role, name, press: isDisabled ? () => ({}) : press },
      state,
    });
  }
}

function inset({ x, y, width, height }: Box, by: number): Box {
  return { x: x + by, y: y + by, width: width - 2 * by, height: height - 2 * by };
}

import { pageText } from '../page-text';
import type { PlacedLine } from '../screen-text';
import type { Area, Box, Popup } from './popup';

const MAX_NAME = 200;

/**
 * An open popup as text: its clickable parts with their positions in CSS pixels of the page's viewport. @param box
 * where it is drawn
 */
export function linesOf(popup: Popup, box: Box): PlacedLine[] {
  const shrunk = box.width / popup.size.width;
  const lines = popup.areas().map(({ box: part, ...area }): PlacedLine => ({
    depth: 2,
    text: textOf(area),
    place: [box.x + (part.x + part.width / 2) * shrunk, box.y + (part.y + part.height / 2) * shrunk],
  }));
  return [{ depth: 1, text: `popup "${popup.name}"`, place: null }, ...lines];
}

function textOf({ role, name, state }: Omit<Area, 'box'>): string {
  const quoted = JSON.stringify(pageText(name, MAX_NAME).replaceAll(/\s+/g, ' '));
  return `${role} ${quoted}${state === undefined ? '' : ` ${state}`}`;
}

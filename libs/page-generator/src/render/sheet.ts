import type { GeneratedPage } from '../page';

/** A page with its position on a sheet. */
export interface Tile {
  page: GeneratedPage;
  index: number;
  left: number;
  top: number;
}

/** Side of a sheet in CSS pixels. */
export const SHEET = 1280;

/** Packs pages into sheets, in rows of pages with similar heights. */
export function sheets(pages: readonly GeneratedPage[]): Tile[][] {
  const order = pages.map((page, index) => ({ page, index })).sort((a, b) => a.page.height - b.page.height);
  const found: Tile[][] = [];
  let [left, top, rowHeight] = [0, 0, 0];
  for (const { page, index } of order) {
    if (left + page.width > SHEET) [left, top, rowHeight] = [0, top + rowHeight, 0];
    if (top + page.height > SHEET || found.length === 0) {
      found.push([]);
      [left, top, rowHeight] = [0, 0, 0];
    }
    found[found.length - 1].push({ page, index, left, top });
    left += page.width;
    rowHeight = Math.max(rowHeight, page.height);
  }
  return found;
}

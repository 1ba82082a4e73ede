import type { Draft, Widget } from '../draft';
import type { Viewport, PlacedKind } from '../page';

/** Samples the kind of the next widget. */
export type NextKind = () => PlacedKind;

/** Fills a page body with widgets. */
type Layout = (draft: Draft, viewport: Viewport, next: NextKind) => string;

/** Stacks widgets until `height` is approximately full. */
function stack(draft: Draft, height: number, next: NextKind): Widget[] {
  const widgets: Widget[] = [];
  for (let used = 0; used < height && widgets.length < 24;) {
    const widget = draft.widget(next());
    widgets.push(widget);
    used += widget.height + draft.theme.gap;
  }
  return widgets;
}

/** The filled share of a page: some pages are nearly empty. */
function fill(draft: Draft): number {
  return draft.random.pick([0.5, 0.8, 1, 1, 1.2, 1.2, 1.4, 1.6]);
}

function join(widgets: readonly Widget[]): string {
  return widgets.map(({ html }) => html).join('');
}

const column: Layout = (draft, { height }, next) => {
  const style = draft.random.pick([
    '',
    '',
    '',
    'align-items:center',
    'align-items:flex-end',
    'justify-content:center;min-height:100%',
  ]);
  return `<div class="c" style="${style}">${join(stack(draft, height * fill(draft), next))}</div>`;
};

/** Text and widgets in sequence, as on a page without a stylesheet. */
const flow: Layout = (draft, { height }, next) => {
  const widgets = stack(draft, height * fill(draft), next);
  return widgets.map(({ html }) => `<div style="margin-bottom:${draft.theme.gap}px">${html}</div>`).join('');
};

const cards: Layout = (draft, { height }, next) => {
  const parts: string[] = [];
  for (let used = 0, full = height * fill(draft); used < full;) {
    const widgets = stack(draft, 20 + draft.random.below(60), next);
    used += widgets.reduce((sum, widget) => sum + widget.height + draft.theme.gap, 10 + draft.theme.gap);
    parts.push(`<div class="card fill c">${join(widgets)}</div>`);
  }
  return `<div class="c">${parts.join('')}</div>`;
};

const columns: Layout = (draft, { width, height }, next) => {
  const count = width < 260 ? 2 : draft.random.pick([2, 2, 3]);
  const each = (width - 2 * draft.theme.padding) / count - 6;
  const inner = Array.from({ length: count }, () => {
    const narrow = draft.narrowed(each);
    return `<div class="c" style="width:${Math.floor(each)}px;overflow:hidden">${join(stack(narrow, height * fill(draft), next))}</div>`;
  });
  return `<div class="rw nw" style="gap:6px;align-items:flex-start">${inner.join('')}</div>`;
};

/** Header, content and footer. */
const frame: Layout = (draft, { height }, next) => {
  const { random } = draft;
  const header = draft.widget(random.pick(['heading', 'heading', 'menu', 'tabs', 'icons', 'links'] as const));
  const footer = random.chance(0.5)
    ? draft.widget(random.pick(['buttons', 'links', 'icons', 'text'] as const))
    : undefined;
  const left = height - header.height - (footer?.height ?? 0) - 20;
  const dark = random.chance(0.3);
  const look = dark
    ? 'background:var(--ac);color:var(--oa);--fg:var(--oa);--mu:var(--oa)'
    : 'background:var(--sf)';
  const plainHeader = dark ? heading(draft) : header.html;
  const foot =
    footer === undefined
      ? ''
      : `<div style="margin-top:auto;background:var(--sf);padding:3px">${footer.html}</div>`;
  return `<div style="display:flex;flex-direction:column;height:100%"><div style="${look};padding:3px">${plainHeader}</div><div class="c" style="padding:4px;flex:1;min-height:0;overflow:hidden">${join(stack(draft, left * fill(draft), next))}</div>${foot}</div>`;
};

function heading(draft: Draft): string {
  return draft.widget('heading').html.replace('color:var(--ac);', '');
}

interface Place {
  left: number;
  top: number;
  width: number;
  height: number;
}

function overlaps(a: Place, b: Place): boolean {
  return (
    a.left < b.left + b.width &&
    b.left < a.left + a.width &&
    a.top < b.top + b.height &&
    b.top < a.top + a.height
  );
}

/** A free area of this size, if one is found. */
function freePlace(
  draft: Draft,
  { width, height }: Viewport,
  size: Viewport,
  placed: readonly Place[],
): Place | undefined {
  const { random } = draft;
  for (let tries = 0; tries < 12; tries++) {
    const left = random.below(Math.max(1, width - size.width));
    const top = random.below(Math.max(1, height - size.height));
    const place = { left, top, ...size };
    if (!placed.some((each) => overlaps(each, place))) return place;
  }
  return undefined;
}

/** Pieces at random positions without overlap. */
const scattered: Layout = (draft, viewport, next) => {
  const { random, parts } = draft;
  const placed: Place[] = [];
  const html: string[] = [];
  for (let i = random.pick([6, 9, 12, 16]); i > 0; i--) {
    const width = Math.min(viewport.width - 4, 50 + random.below(viewport.width - 50));
    const before = parts.length;
    const widget = draft.narrowed(width).widget(next());
    const height = Math.ceil(Math.min(widget.height + 6, viewport.height / 2));
    const place = freePlace(draft, viewport, { width, height }, placed);
    if (place === undefined) {
      parts.length = before;
      continue;
    }
    placed.push(place);
    html.push(
      `<div class="abs" style="left:${place.left}px;top:${place.top}px;width:${width}px;height:${height}px;overflow:hidden">${widget.html}</div>`,
    );
  }
  return html.join('');
};

/** Pieces in cells of equal size. */
const grid: Layout = (draft, { width, height }, next) => {
  const { random, theme } = draft;
  const widest = Math.max(2, Math.floor(width / (6 * theme.size)));
  const across = Math.min(widest, width < 260 ? random.pick([2, 2, 3]) : random.pick([2, 3, 4]));
  const cellWidth = Math.floor((width - 2 * theme.padding - (across - 1) * theme.gap) / across);
  const cellHeight = random.pick([32, 44, 60, 80]);
  const kind = random.chance(0.5) ? next() : undefined;
  const count = across * Math.max(1, Math.floor((height - 2 * theme.padding) / (cellHeight + theme.gap)));
  const narrow = draft.narrowed(cellWidth - 6);
  const border = random.chance(0.6) ? 'border:1px solid var(--bd);' : '';
  const cells = Array.from(
    { length: count },
    () =>
      `<div style="${border}padding:2px;height:${cellHeight}px;overflow:hidden;min-width:0">${narrow.widget(kind ?? next()).html}</div>`,
  );
  return `<div style="display:grid;grid-template-columns:repeat(${across},${cellWidth}px);gap:${theme.gap}px">${cells.join('')}</div>`;
};

/** Layouts that do not clip popups. */
export const ROOMY_LAYOUTS: readonly (readonly [Layout, number])[] = [
  [column, 5],
  [flow, 4],
  [cards, 3],
];

export const LAYOUTS: readonly (readonly [Layout, number])[] = [
  ...ROOMY_LAYOUTS,
  [columns, 2],
  [frame, 4],
  [scattered, 4],
  [grid, 2],
];

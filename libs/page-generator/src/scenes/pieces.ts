import { escape, mark, type Draft, type Marks } from '../draft';
import { svg } from '../look/icons';
import type { PartAction, PartItem } from '../page';
import type { ElementKind } from '../truth';
import { pictureSvg } from '../widgets/pictures';

/** An icon button; shows its name if the page's icon set lacks the icon. */
export function iconButton(
  draft: Draft,
  name: string,
  attributes = '',
  marks: Marks = {},
): { id: number; html: string } {
  const id = draft.id();
  const icon = draft.icons.get(name);
  const inner = icon === undefined ? escape(name) : svg(icon, Math.max(12, draft.theme.size));
  const own = mark(id, icon === undefined ? 'button' : 'icon', {
    name,
    icon: name,
    interactive: true,
    ...marks,
  });
  return { id, html: `<span role="button" tabindex="0" class="ib" ${attributes} ${own}>${inner}</span>` };
}

export function button(draft: Draft, name: string, attributes = ''): { id: number; html: string } {
  const id = draft.id();
  return { id, html: `<button type="button" ${attributes} ${mark(id, 'button')}>${escape(name)}</button>` };
}

export function element(draft: Draft, kind: ElementKind, text: string, look = ''): string {
  return `<span class="${look}" ${mark(draft.id(), kind)}>${escape(text)}</span>`;
}

/** A user avatar: initials on a color, or a picture. */
export function avatar(draft: Draft, name: string): string {
  const size = Math.round(draft.theme.size * 1.7);
  if (draft.chance(0.4))
    return `<span style="border-radius:50%;overflow:hidden;flex:none">${pictureSvg(draft, size, size)}</span>`;
  const initials = name
    .replace(/[^A-Za-z ]/g, '')
    .split(' ')
    .map((part) => part.charAt(0))
    .join('')
    .slice(0, 2);
  return `<span style="width:${size}px;height:${size}px;border-radius:50%;flex:none;display:grid;place-items:center;background:var(--ac);color:var(--oa);font-size:${Math.max(9, size * 0.45)}px;line-height:1">${initials}</span>`;
}

/** A view over the page, opened by `data-shows`, with a back button. */
export function view(draft: Draft, body: string, content: string): string {
  const back =
    draft.icons.has('arrow left') && draft.chance(0.6)
      ? iconButton(draft, 'arrow left', 'data-closes=""', { name: 'back' })
      : button(draft, draft.random.pick(['Back', 'Close', '‹ Back']), 'data-closes=""');
  return `<div id="${body}" class="view c" data-closable="" hidden><div>${back.html}</div>${content}</div>`;
}

/** Rows of a scene with their controls. */
export class Records {
  readonly items: PartItem[] = [];
  readonly actions: PartAction[] = [];

  constructor(private readonly draft: Draft) {}

  /** Adds a row; returns its id. */
  row(name: string, value?: string): number {
    const id = this.draft.id();
    this.items.push({ id, name, value });
    return id;
  }

  /** Registers the effect of a control in the last row. */
  action(name: string, { id, html }: { id: number; html: string }): string {
    this.actions.push({ id, name, row: this.items.length - 1 });
    return html;
  }

  /** Registers the rows as a part of the page. */
  add(name: string): void {
    this.draft.parts.push({
      id: this.items[0]?.id ?? 0,
      kind: 'records',
      name,
      items: this.items,
      actions: this.actions,
    });
  }
}

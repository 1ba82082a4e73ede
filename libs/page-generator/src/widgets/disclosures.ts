import { escape, mark, SMALL_KINDS, type Draft, type Widget } from '../draft';
import type { PartItem } from '../page';
import { lineHeight, twisty } from './texts';

/** Tabs with a panel each. */
export function tabs(draft: Draft): Widget {
  const { texts, random } = draft;
  const id = draft.id();
  const items = texts
    .several(texts.number(2, draft.width > 220 ? 5 : 3), () => texts.label().slice(0, 12))
    .map((name) => ({ id: draft.id(), name, body: `b${draft.id()}` }));
  const chosen = random.below(items.length);
  const inner = draft.narrowed(draft.width - 8);
  const panels = items.map(({ id }) => inner.content(SMALL_KINDS, texts.number(1, 2), id));
  draft.parts.push({
    ...{ id, kind: 'tabs', name: '', value: items[chosen].name },
    items: items.map(({ id, name }) => ({ id, name })),
  });
  const heads = items.map(
    (item, i) =>
      `<div role="tab" aria-selected="${i === chosen}" data-panel="${item.body}" ${mark(item.id, 'tab')}>${escape(item.name)}</div>`,
  );
  const bodies = items.map(
    ({ body }, i) =>
      `<div id="${body}" style="padding:4px"${i === chosen ? '' : ' hidden'}>${panels[i].html}</div>`,
  );
  return {
    html: `<div class="fill" data-select="one" ${mark(id, 'group')}><div class="tabs t${random.below(3)}" role="tablist">${heads.join('')}</div>${bodies.join('')}</div>`,
    height: lineHeight(draft) + 14 + panels[chosen].height,
  };
}

/** Headers that show and hide the content below them. */
export function accordion(draft: Draft): Widget {
  const { texts, random } = draft;
  const id = draft.id();
  const items = texts
    .several(texts.number(2, 4), () => texts.title())
    .map((name) => ({ id: draft.id(), name, body: `b${draft.id()}`, isOpen: random.chance(0.3) }));
  const inner = draft.narrowed(draft.width - 12);
  const bodies = items.map(({ id }) => inner.content(SMALL_KINDS, 1, id));
  draft.parts.push({ id, kind: 'accordion', name: '', items: items.map(({ id, name }) => ({ id, name })) });
  const [shut, open] = random.pick([
    ['▸', '▾'],
    ['+', '−'],
    ['▼', '▲'],
    ['', ''],
  ]);
  const html = items.map(({ id, name, body, isOpen }, i) => {
    const twist = open === '' ? '' : twisty(open, shut);
    return `<div class="acc" role="button" tabindex="0" aria-expanded="${isOpen}" data-body="${body}" ${mark(id, 'accordion', { name })}>${twist}${escape(name)}</div><div id="${body}" style="padding:4px 6px"${isOpen ? '' : ' hidden'}>${bodies[i].html}</div>`;
  });
  return {
    html: `<div class="fill" ${mark(id, 'group')}>${html.join('')}</div>`,
    height: items.reduce(
      (sum, { isOpen }, i) => sum + lineHeight(draft) + 7 + (isOpen ? bodies[i].height : 0),
      0,
    ),
  };
}

function menuItems(draft: Draft): PartItem[] {
  const { texts } = draft;
  return texts.several(texts.number(2, 6), () => texts.label()).map((name) => ({ id: draft.id(), name }));
}

function itemsHtml(items: readonly PartItem[], active: number): string {
  return items
    .map(
      (item, i) =>
        `<span role="menuitem" ${mark(item.id, 'menu item')}${i === active ? ' class="hot"' : ''}>${escape(item.name)}</span>`,
    )
    .join('');
}

/** An open list of commands; some of them open a submenu. */
function openMenu(draft: Draft): Widget {
  const id = draft.id();
  const items: PartItem[] = menuItems(draft);
  const active = draft.chance(0.3) ? draft.random.below(items.length) : -1;
  const rows = items.slice().map((item, i) => {
    const look = i === active ? ' class="hot"' : '';
    if (!draft.chance(0.25))
      return `<span role="menuitem" ${mark(item.id, 'menu item')}${look}>${escape(item.name)}</span>`;
    const body = `b${draft.id()}`;
    const inner = menuItems(draft);
    items.push(...inner.map((each) => ({ ...each, inside: item.id })));
    return `<span role="menuitem" aria-expanded="false" data-body="${body}" ${mark(item.id, 'menu', { name: item.name })}${look}>${escape(item.name)} ▸</span><div id="${body}" class="menu drop" role="menu" data-popup="" hidden ${mark(draft.id(), 'group')}>${itemsHtml(inner, -1)}</div>`;
  });
  draft.parts.push({ id, kind: 'menu', name: '', items });
  return {
    html: `<div class="menu" role="menu" ${mark(id, 'group')}>${rows.join('')}</div>`,
    height: rows.length * (lineHeight(draft) + 2),
  };
}

/** Menus side by side that open when clicked; sometimes one is already open. */
function menuBar(draft: Draft): Widget {
  const { texts, random } = draft;
  const count = Math.max(1, Math.min(texts.number(1, 5), Math.floor(draft.width / 60)));
  const open = random.chance(0.3) ? random.below(count) : -1;
  const html = texts
    .several(count, () => texts.label().slice(0, 10))
    .map((name, i) => {
      const id = draft.id();
      const items = menuItems(draft);
      const body = `b${draft.id()}`;
      draft.parts.push({ id, kind: 'menu', name, items });
      const side = i > 0 && i === count - 1 ? 'right:0' : 'left:0';
      return `<span style="position:relative"><span role="button" tabindex="0" class="mb" aria-expanded="${i === open}" data-body="${body}" ${mark(id, 'menu', { name })}>${escape(name)}</span><div id="${body}" class="menu drop" style="${side}" role="menu" data-popup=""${i === open ? '' : ' hidden'} ${mark(draft.id(), 'group')}>${itemsHtml(items, -1)}</div></span>`;
    });
  return {
    html: `<div class="bar fill" role="menubar">${html.join('')}</div>`,
    height: lineHeight(draft) * 1.5,
  };
}

export function menu(draft: Draft): Widget {
  return draft.chance(0.55) ? menuBar(draft) : openMenu(draft);
}

/** A scrollable part of a page. */
export function scrollContainer(draft: Draft): Widget {
  const { texts, random } = draft;
  const id = draft.id();
  const before = draft.parts.length;
  const inner = draft.narrowed(draft.width - 10);
  const kinds = random.chance(0.5)
    ? ([random.pick(['list', 'text', 'links', 'checkboxes', 'buttons'] as const)] as const)
    : SMALL_KINDS;
  const content = inner.content(kinds, texts.number(2, 5));
  const items = draft.parts.slice(before).map(({ id, name }) => ({ id, name }));
  const height = Math.round(Math.min(content.height * 0.7, random.pick([50, 70, 90, 120])));
  draft.parts.push({ id, kind: 'scroll container', name: '', items });
  return {
    html: `<div class="scroll" style="height:${height}px;width:${draft.width}px" ${mark(id, 'scroll container')}>${content.html}</div>`,
    height,
  };
}

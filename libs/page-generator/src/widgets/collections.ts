import { escape, mark, type Draft, type Widget } from '../draft';
import { lineHeight, linesOf } from './texts';

export function list(draft: Draft): Widget {
  const { texts, random } = draft;
  const id = draft.id();
  const form = random.pick(['ul', 'numbered', 'plain', 'plain']);
  const make = random.pick([
    () => texts.label(),
    () => texts.value(),
    () => texts.personName(),
    () => texts.phrase(texts.number(1, 4)),
  ]);
  const items = texts.several(texts.number(2, 7), make).map((name) => ({ id: draft.id(), name }));
  draft.parts.push({ id, kind: 'list', name: '', items });
  const selected = form === 'plain' && random.chance(0.3) ? random.below(items.length) : -1;
  const ruled =
    form === 'plain' && random.chance(0.5) ? 'border-bottom:1px solid var(--bd);padding:2px 3px' : '';
  const html = items.map(
    (item, i) =>
      `<li ${mark(item.id, 'list item', { name: item.name, row: i })} style="${ruled}"${i === selected ? ' class="sel" aria-selected="true"' : ''}>${form === 'numbered' ? `${i + 1}. ` : ''}${escape(item.name)}</li>`,
  );
  return {
    html: `<ul class="${form === 'ul' ? '' : 'pl fill'}" ${mark(id, 'list')}>${html.join('')}</ul>`,
    height:
      items.reduce((sum, { name }) => sum + linesOf(draft, name), 0) *
      (lineHeight(draft) + (ruled === '' ? 0 : 5)),
  };
}

export function table(draft: Draft): Widget {
  const { texts, random } = draft;
  const id = draft.id();
  const columns = texts.number(2, draft.width > 220 ? 5 : 3);
  const rows = texts.number(2, 6);
  const headers = random.chance(0.8) ? texts.several(columns, () => texts.cased(texts.word())) : [];
  const makers = Array.from({ length: columns }, () =>
    random.pick([
      () => texts.value(),
      () => texts.quantity(),
      () => texts.amount(),
      () => texts.cased(texts.word()),
      () => texts.personName().split(/[ ,]/)[0],
      () => texts.date(),
    ]),
  );
  const cells = Array.from({ length: rows }, () => makers.map((make) => make()));
  const headerHtml = headers
    .map((name, column) => `<th ${mark(draft.id(), 'column header', { column })}>${escape(name)}</th>`)
    .join('');
  const body = cells.map((row, y) => {
    const inner = row.map(
      (cell, x) => `<td ${mark(draft.id(), 'table cell', { row: y, column: x })}>${escape(cell)}</td>`,
    );
    return `<tr ${mark(draft.id(), 'table row', { row: y })}>${inner.join('')}</tr>`;
  });
  draft.parts.push({ id, kind: 'table', name: '', value: { headers, cells } });
  const size = random.chance(0.5) ? ' sm' : '';
  const head = headers.length === 0 ? '' : `<tr>${headerHtml}</tr>`;
  return {
    html: `<table class="${random.pick(['bd', 'ln', ''])}${size}" ${mark(id, 'table')}>${head}${body.join('')}</table>`,
    height: (rows + 1) * (lineHeight(draft) + 3),
  };
}

export function tabs(draft: Draft): Widget {
  const { texts, random } = draft;
  const id = draft.id();
  const items = texts
    .several(texts.number(2, draft.width > 220 ? 5 : 3), () => texts.label().slice(0, 12))
    .map((name) => ({ id: draft.id(), name }));
  const chosen = random.below(items.length);
  draft.parts.push({ id, kind: 'tabs', name: '', items, value: items[chosen].name });
  const html = items.map(
    (item, i) =>
      `<div role="tab" aria-selected="${i === chosen}" ${mark(item.id, 'tab')}>${escape(item.name)}</div>`,
  );
  const content = texts.sentence();
  return {
    html: `<div class="fill" ${mark(id, 'group')}><div class="tabs t${random.below(3)}" role="tablist">${html.join('')}</div><p style="padding:3px">${escape(content)}</p></div>`,
    height: lineHeight(draft) * (1 + linesOf(draft, content)) + 14,
  };
}

/** A bar of menus, or one that stands open. */
export function menu(draft: Draft): Widget {
  const { texts, random } = draft;
  const id = draft.id();
  const items = texts
    .several(texts.number(2, 6), () => texts.label())
    .map((name) => ({ id: draft.id(), name }));
  draft.parts.push({ id, kind: 'menu', name: '', items });
  const isBar = random.chance(0.4);
  const active = random.chance(0.3) ? random.below(items.length) : -1;
  const html = items.map(
    (item, i) =>
      `<span role="menuitem" ${mark(item.id, isBar ? 'menu' : 'menu item')}${i === active ? ' aria-selected="true" class="sel"' : ''}>${escape(item.name)}</span>`,
  );
  return {
    html: `<div class="${isBar ? 'bar fill' : 'menu'}" style="${isBar ? 'flex-wrap:wrap' : ''}" role="menu" ${mark(id, 'group')}>${html.join('')}</div>`,
    height: (isBar ? 1.5 : items.length) * (lineHeight(draft) + 2),
  };
}

import { escape, mark, type Draft, type Widget } from '../draft';
import type { PartItem } from '../page';
import { lineHeight, linesOf, twisty } from './texts';

export function list(draft: Draft): Widget {
  const { texts, random } = draft;
  const id = draft.id();
  const form = random.pick(['ul', 'numbered', 'plain', 'plain', 'choice', 'choice']);
  const make = random.pick([
    () => texts.label(),
    () => texts.value(),
    () => texts.personName(),
    () => texts.phrase(texts.number(1, 4)),
  ]);
  const items = texts.several(texts.number(2, 7), make).map((name) => ({ id: draft.id(), name }));
  const selected = form === 'choice' && random.chance(0.6) ? random.below(items.length) : -1;
  const choice = form === 'choice' ? ` data-select="${random.pick(['one', 'one', 'many'])}"` : '';
  draft.parts.push({ id, kind: 'list', name: '', items, value: selected < 0 ? null : items[selected].name });
  const ruled =
    form !== 'ul' && random.chance(0.5) ? 'border-bottom:1px solid var(--bd);padding:2px 3px' : '';
  const html = items.map((item, i) => {
    const selectable = form === 'choice' ? ` aria-selected="${i === selected}"` : '';
    const marks = { name: item.name, row: i, ...(form === 'choice' ? { interactive: true } : {}) };
    const number = form === 'numbered' ? `${i + 1}. ` : '';
    return `<li ${mark(item.id, 'list item', marks)} style="${ruled}"${selectable}>${number}${escape(item.name)}</li>`;
  });
  return {
    html: `<ul class="${form === 'ul' ? '' : 'pl fill'}" ${mark(id, 'list')}${choice}>${html.join('')}</ul>`,
    height:
      items.reduce((sum, { name }) => sum + linesOf(draft, name), 0) *
      (lineHeight(draft) + (ruled === '' ? 0 : 5)),
  };
}

/** Samples the cells of a column, all of one type. */
function columnMaker({ texts, random }: Draft): () => string {
  return random.pick([
    () => texts.value(),
    () => texts.quantity(),
    () => texts.amount(),
    () => texts.cased(texts.word()),
    () => texts.personName().split(/[ ,]/)[0],
    () => texts.date(),
  ]);
}

export function table(draft: Draft): Widget {
  const { texts, random } = draft;
  const id = draft.id();
  const columns = texts.number(2, draft.width > 220 ? 5 : 3);
  const rows = texts.number(2, 6);
  const headers = random.chance(0.8) ? texts.several(columns, () => texts.cased(texts.word())) : [];
  const makers = Array.from({ length: columns }, () => columnMaker(draft));
  const action = random.chance(0.2) ? random.pick(['Edit', 'View', 'Open', 'Delete', '×', '…']) : undefined;
  const cells = Array.from({ length: rows }, () => makers.map((make) => make()));
  const headerHtml = headers.map(
    (name, column) => `<th ${mark(draft.id(), 'column header', { column })}>${escape(name)}</th>`,
  );
  const items: { id: number; name: string }[] = [];
  const body = cells.map((row, y) => {
    const rowId = draft.id();
    const inner = row.map(
      (cell, x) =>
        `<td ${mark(draft.id(), 'table cell', { row: y, column: x, label: rowId })}>${escape(cell)}</td>`,
    );
    if (action !== undefined) {
      const button = draft.id();
      items.push({ id: button, name: row[0] });
      inner.push(`<td><a href="#" ${mark(button, 'link', { row: y, column: columns })}>${action}</a></td>`);
    }
    return `<tr ${mark(rowId, 'table row', { row: y, name: row[0] })}>${inner.join('')}</tr>`;
  });
  draft.parts.push({
    id,
    kind: 'table',
    name: '',
    value: { headers, cells },
    ...(items.length > 0 ? { items } : {}),
  });
  const size = random.chance(0.5) ? ' sm' : '';
  const head =
    headers.length === 0 ? '' : `<tr>${headerHtml.join('')}${action === undefined ? '' : '<th></th>'}</tr>`;
  return {
    html: `<table class="${random.pick(['bd', 'ln', ''])}${size}" ${mark(id, 'table')}>${head}${body.join('')}</table>`,
    height: (rows + 1) * (lineHeight(draft) + 3),
  };
}

/** A tree of one or two levels below the top, with rows that open and close. */
export function tree(draft: Draft): Widget {
  const { texts, random } = draft;
  const id = draft.id();
  const items: PartItem[] = [];
  const [shut, open] = random.pick([
    ['▸', '▾'],
    ['+', '-'],
    ['›', '⌄'],
  ]);
  let lines = 0;
  const level = (count: number, depth: number, isShown: boolean, inside?: number): string =>
    Array.from({ length: count }, () => {
      const item = { id: draft.id(), name: texts.fresh(() => texts.label()) };
      items.push(inside === undefined ? item : { ...item, inside });
      lines += isShown ? 1 : 0;
      const inner = depth < 2 && random.chance(depth === 0 ? 0.75 : 0.4) ? texts.number(1, 4) : 0;
      const look = `style="padding-left:${depth * 12}px;display:block" class="nb"`;
      const marks = mark(item.id, 'tree item', { name: item.name, row: items.length - 1 });
      if (inner === 0) {
        return `<span role="treeitem" ${look} ${marks}><span class="tw"></span>${escape(item.name)}</span>`;
      }
      const isOpen = random.chance(0.4);
      const body = `b${draft.id()}`;
      return `<span role="treeitem" ${look} ${marks} data-body="${body}" aria-expanded="${isOpen}">${twisty(open, shut)}${escape(item.name)}</span><div id="${body}"${isOpen ? '' : ' hidden'}>${level(inner, depth + 1, isShown && isOpen, item.id)}</div>`;
    }).join('');
  const html = level(texts.number(2, 4), 0, true);
  draft.parts.push({ id, kind: 'tree', name: '', items });
  return {
    html: `<div role="tree" class="fill tree" ${mark(id, 'list')}>${html}</div>`,
    height: lines * lineHeight(draft),
  };
}

/** Items that can be reordered by dragging. */
export function sortableList(draft: Draft): Widget {
  const { texts, random } = draft;
  const id = draft.id();
  const items = texts
    .several(texts.number(3, 6), () => texts.label())
    .map((name) => ({ id: draft.id(), name }));
  draft.parts.push({ id, kind: 'sortable list', name: '', items, value: items.map(({ name }) => name) });
  const grip = random.pick(['', '', '☰ ', '⋮ ', '= ']);
  const html = items.map(
    (item, i) =>
      `<div class="drag" ${mark(item.id, 'drag source', { name: item.name, row: i })}>${grip}${escape(item.name)}</div>`,
  );
  return {
    html: `<div class="c" style="gap:2px;align-items:stretch;min-width:40%" data-sortable="" ${mark(id, 'list')}>${html.join('')}</div>`,
    height: items.length * (lineHeight(draft) + 8),
  };
}

/** Clickable cells of equal size: letters, numbers, words, colors. */
export function grid(draft: Draft): Widget {
  const { texts, random, theme } = draft;
  const id = draft.id();
  const form = random.pick(['letter', 'number', 'word', 'empty']);
  const cellWidth =
    form === 'word' ? theme.size * 4.5 : random.pick([18, 22, 28]) + (theme.size > 15 ? 6 : 0);
  const columns = Math.max(2, Math.min(random.pick([3, 4, 5, 7]), Math.floor(draft.width / (cellWidth + 3))));
  const rows = random.pick([2, 3, 3, 4, 5]);
  const names = {
    letter: () => texts.nonsense(1),
    number: () => String(texts.number(0, 99)),
    word: () => texts.word().slice(0, 6),
    empty: () => '',
  };
  const items = Array.from({ length: rows * columns }, () => ({
    id: draft.id(),
    name: names[form as keyof typeof names](),
  }));
  const selected = random.chance(0.4) ? random.below(items.length) : -1;
  draft.parts.push({ id, kind: 'grid', name: '', items, value: null });
  const html = items.map(
    (item, i) =>
      `<span class="cell" aria-selected="${i === selected}" ${mark(item.id, 'grid cell', { name: item.name, row: Math.floor(i / columns), column: i % columns, interactive: true })}>${escape(item.name)}</span>`,
  );
  const height = form === 'word' ? Math.round(theme.size * 1.6) : Math.round(cellWidth);
  return {
    html: `<div style="display:grid;grid-template-columns:repeat(${columns},${Math.round(cellWidth)}px);grid-auto-rows:${height}px;gap:${random.pick([0, 1, 3])}px" data-select="${random.pick(['one', 'many'])}" ${mark(id, 'group')}>${html.join('')}</div>`,
    height: rows * (height + 2),
  };
}

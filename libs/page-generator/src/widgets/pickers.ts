import { escape, mark, type Draft, type Widget } from '../draft';
import { labelled } from './fields';
import { lineHeight } from './texts';

const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
);

/** A field that suggests texts containing the typed text. */
export function autocomplete(draft: Draft): Widget {
  const { texts, random } = draft;
  const id = draft.id();
  const name = texts.fresh(() => texts.fieldName());
  const make = random.pick([
    () => texts.place(),
    () => texts.personName(),
    () => texts.cased(texts.phrase(1)),
    () => texts.label(),
  ]);
  const names = texts.several(texts.number(5, 14), () => make().replace(/\|/g, '/'));
  const items = names.map((each) => ({ id: draft.id(), name: each }));
  const isOpen = random.chance(0.35);
  const typed = isOpen ? random.pick(names).slice(0, texts.number(1, 3)) : '';
  const fitting = items.filter(({ name }) => name.toLowerCase().includes(typed.toLowerCase())).slice(0, 6);
  draft.parts.push({ id, kind: 'autocomplete', name, items, value: typed });
  const width = Math.round(draft.width * random.pick([0.6, 0.8, 1]));
  const rows = fitting.map(
    (item) =>
      `<div role="option" data-at="${items.indexOf(item)}" ${mark(item.id, 'suggestion')}>${escape(item.name)}</div>`,
  );
  const open = isOpen
    ? `<div class="pop suggest" data-popup="made" style="top:100%;left:0;min-width:${width}px">${rows.join('')}</div>`
    : '';
  const { html, height } = labelled(
    draft,
    name,
    (label, placeholder) =>
      `<span style="position:relative;display:inline-block"><input class="f" value="${escape(typed)}" placeholder="${escape(placeholder)}" spellcheck="false" autocomplete="off" style="width:${width}px" data-suggest="${escape(names.join('|'))}" data-items="${items.map((item) => item.id).join(' ')}" ${mark(id, 'text field', { name, label })}>${open}</span>`,
    lineHeight(draft) + 9,
  );
  return { html, height: height + (isOpen ? fitting.length * lineHeight(draft) : 0) };
}

/** A month as a table of days. */
function calendarHtml(
  draft: Draft,
  body: string,
  attributes: string,
  [year, month]: [number, number],
  chosen: number,
): string {
  const { theme } = draft;
  const size = Math.max(9, Math.min(theme.size, Math.floor((draft.width - 12) / 14)));
  const before = (new Date(Date.UTC(year, month - 1, 1)).getUTCDay() + 6) % 7;
  const days = new Date(Date.UTC(year, month, 0)).getUTCDate();
  const cells = Array.from({ length: 42 }, (_, at) => {
    const id = draft.id();
    const day = at - before + 1;
    if (day < 1 || day > days) return `<span data-cell="${id}"></span>`;
    const look = day === chosen ? ' class="hot"' : '';
    return `<span data-cell="${id}" data-day="${day}"${look} ${mark(id, 'date', { name: String(day), row: Math.floor(at / 7), column: at % 7 })}>${day}</span>`;
  });
  const [less, more] = draft.random.pick([
    ['‹', '›'],
    ['<', '>'],
    ['◀', '▶'],
    ['Prev', 'Next'],
  ]);
  const arrow = (by: number, sign: string, name: string): string =>
    `<span role="button" class="ib" data-month="${by}" ${mark(draft.id(), 'button', { name })}>${escape(sign)}</span>`;
  const title = `<b data-title="">${MONTHS[month - 1]} ${year}</b>`;
  const names = 'Mo Tu We Th Fr Sa Su'.split(' ').map((name) => `<span class="mu">${name}</span>`);
  return `<div id="${body}" class="cal" style="font-size:${size}px;width:${size * 14 + 8}px" ${attributes} data-calendar="${year}-${month}"><div class="rw nw sb">${arrow(-1, less, 'previous month')}${title}${arrow(1, more, 'next month')}</div><div class="days">${names.join('')}${cells.join('')}</div></div>`;
}

const FORMATS = ['Y-M-D', 'D/M/Y', 'M/D/Y', 'D.M.Y'];

/** A field with a calendar that opens below it, or only a calendar. */
export function datePicker(draft: Draft): Widget {
  const { texts, random } = draft;
  const id = draft.id();
  const name = texts.fresh(() =>
    random.pick([
      'Date',
      'Start date',
      'End date',
      'Departure',
      'Return',
      'Birthday',
      'Due',
      'Check-in',
      'Check-out',
      texts.fieldName(),
    ]),
  );
  const [year, month, day] = [texts.number(2015, 2032), texts.number(1, 12), texts.number(1, 28)];
  const format = random.pick(FORMATS);
  const two = (value: number): string => String(value).padStart(2, '0');
  const isSet = random.chance(0.5);
  const value = isSet
    ? format.replace('Y', String(year)).replace('M', two(month)).replace('D', two(day))
    : '';
  draft.parts.push({ id, kind: 'date picker', name, value, format, month: [year, month] });
  const body = `b${draft.id()}`;
  const size = Math.max(9, Math.min(draft.theme.size, Math.floor((draft.width - 12) / 14)));
  const calendarHeight = size * 13;
  if (random.chance(0.25)) {
    const attributes = `data-format="${format}" data-value="${value}" ${mark(id, 'group', { name, value })}`;
    return {
      html: calendarHtml(draft, body, attributes, [year, month], isSet ? day : 0),
      height: calendarHeight,
    };
  }
  const isOpen = random.chance(0.3);
  const calendar = calendarHtml(
    draft,
    body,
    `data-format="${format}" data-popup=""${isOpen ? '' : ' hidden'} ${mark(draft.id(), 'group', { name })}`,
    [year, month],
    isSet ? day : 0,
  );
  const { html, height } = labelled(
    draft,
    name,
    (label) =>
      `<input class="f" readonly value="${value}" placeholder="${format.replace('Y', 'YYYY').replace('M', 'MM').replace('D', 'DD')}" style="width:${size * 8}px" aria-expanded="${isOpen}" data-body="${body}" ${mark(id, 'text field', { name, label })}>`,
    lineHeight(draft) + 9,
  );
  return {
    html: `<div style="position:relative">${html}<div class="under">${calendar}</div></div>`,
    height: height + (isOpen ? calendarHeight : 0),
  };
}

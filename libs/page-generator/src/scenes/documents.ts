import { escape, mark, type Draft } from '../draft';
import type { Viewport } from '../page';
import { button, Records } from './pieces';

/** A search field, and pages of results. */
export function search(draft: Draft, { width, height }: Viewport): string {
  const { texts, random, theme } = draft;
  const field = draft.id();
  const words = random.chance(0.6) ? texts.phrase(texts.number(1, 2)) : '';
  draft.parts.push({ id: field, kind: 'field', name: 'Search', value: words });
  const go = button(draft, random.pick(['Search', 'Go', 'Find']), 'data-submit=""');
  const head = `<div class="rw nw" style="gap:3px"><input class="f" value="${escape(words)}" placeholder="${random.pick(['Search', 'Search the web', ''])}" spellcheck="false" autocomplete="off" style="width:${width - 80}px" ${mark(field, 'text field', { name: 'Search' })}>${go.html}</div>`;
  const records = new Records(draft);
  const perPage = Math.max(2, Math.floor((height - 60) / (theme.size * 4)));
  const count = texts.number(2, 4);
  const chosen = 0;
  const pages = Array.from({ length: count }, (_, page) => {
    const body = `b${draft.id()}`;
    const results = texts
      .several(perPage, () => texts.title())
      .map((name) => {
        const row = records.row(name);
        return `<div><a href="#" ${mark(row, 'link', { name, row: records.items.length - 1 })}>${escape(name)}</a><br><span class="sm mu nb">${escape(texts.address())}</span><br><span class="sm" ${mark(draft.id(), 'text')}>${escape(texts.sentence(texts.number(3, 7)))}</span></div>`;
      });
    return {
      body,
      html: `<div id="${body}" class="c"${page === chosen ? '' : ' hidden'}>${results.join('')}</div>`,
    };
  });
  const turn = (by: number, sign: string, name: string): string => {
    const id = draft.id();
    records.actions.push({ id, name, row: -1 });
    return `<span role="button" data-turn="${by}" ${mark(id, 'button', { name })}>${escape(sign)}</span>`;
  };
  const numbers = pages.map(({ body }, i) => {
    const id = draft.id();
    records.actions.push({ id, name: String(i + 1), row: -1 });
    return `<span class="pg" role="button" aria-selected="${i === chosen}" data-panel="${body}" ${mark(id, 'button', { name: String(i + 1) })}>${i + 1}</span>`;
  });
  const [less, more] = random.pick([
    ['<', '>'],
    ['‹', '›'],
    ['Prev', 'Next'],
  ]);
  records.add('results');
  return `${head}<div class="c" data-select="one" style="margin-top:4px" ${mark(draft.id(), 'list')}>${pages.map(({ html }) => html).join('')}<div class="rw nw">${turn(-1, less, 'previous page')}${numbers.join('')}${turn(1, more, 'next page')}</div></div>`;
}

/** A text with formatting tools. */
export function editor(draft: Draft, { height }: Viewport): string {
  const { texts, random } = draft;
  const tools = random.shuffled([
    ['bold', 'B', 'font-weight:700'],
    ['italic', 'I', 'font-style:italic'],
    ['underline', 'U', 'text-decoration:underline'],
    ['strike', 'S', 'text-decoration:line-through'],
  ] as const);
  const buttons = tools.slice(0, texts.number(2, 4)).map(([name, sign, style]) => {
    const id = draft.id();
    draft.parts.push({ id, kind: 'buttons', name });
    return `<button type="button" data-pressable="" aria-pressed="${random.chance(0.2)}" ${mark(id, 'button', { name })}><span style="${style}">${sign}</span></button>`;
  });
  const size = draft.widget('select').html;
  const id = draft.id();
  const content = texts.paragraph(texts.number(1, 3));
  draft.parts.push({ id, kind: 'text area', name: 'text', value: content });
  const rows = Math.max(2, Math.floor((height - 90) / (draft.theme.size * draft.theme.lineHeight)));
  const area = `<textarea rows="${rows}" spellcheck="false" style="width:${draft.width}px;resize:none" ${mark(id, 'text area', { name: 'text' })}>\n${escape(content)}</textarea>`;
  const save = button(draft, random.pick(['Save', 'Publish', 'Done', 'Submit']), 'data-submit=""');
  draft.parts.push({ id: save.id, kind: 'buttons', name: 'save' });
  return `<div class="c" data-form="">${random.chance(0.5) ? draft.widget('heading').html : ''}<div class="rw" style="gap:2px">${buttons.join('')}</div>${random.chance(0.5) ? size : ''}${area}${save.html}</div>`;
}

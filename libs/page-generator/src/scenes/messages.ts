import { escape, mark, type Draft } from '../draft';
import type { Viewport } from '../page';
import { avatar, button, element, iconButton, Records, view } from './pieces';

function bar(draft: Draft, title: string, right: string): string {
  const id = draft.id();
  return `<div class="rw nw sb scenebar"><b class="nb" ${mark(id, 'heading')}>${escape(title)}</b><span class="rw nw" style="gap:2px">${right}</span></div>`;
}

/** Messages of an account; each opens its own view. */
export function mail(draft: Draft, { height }: Viewport): string {
  const { texts, random, theme } = draft;
  const records = new Records(draft);
  const count = Math.max(2, Math.ceil(height / (theme.size * 3.4)));
  const icons = random.shuffled(['star', 'trash', 'flag', 'bookmark']).slice(0, texts.number(1, 2));
  const views: string[] = [];
  const rows = texts
    .several(count, () => texts.personName())
    .map((sender, i) => {
      const subject = texts.cased(texts.phrase(texts.number(1, 3)));
      const row = records.row(sender, subject);
      const body = `b${draft.id()}`;
      const controls = icons.map((name) =>
        records.action(
          name,
          iconButton(draft, name, name === 'trash' ? '' : 'data-pressable="" aria-pressed="false"', {
            row: i,
          }),
        ),
      );
      const text = texts.paragraph(texts.number(1, 3));
      const actions = ['Reply', 'Forward', 'Delete'].map((name) =>
        records.action(name.toLowerCase(), button(draft, name, name === 'Delete' ? 'data-closes=""' : '')),
      );
      views.push(
        view(
          draft,
          body,
          `<b>${escape(subject)}</b><span class="mu">${escape(sender)}</span><p ${mark(draft.id(), 'text')}>${escape(text)}</p><div class="rw" style="gap:3px">${actions.join('')}</div>`,
        ),
      );
      const isNew = random.chance(0.4) ? 'font-weight:700' : '';
      return `<div class="mrow rw nw" data-shows="${body}" ${mark(row, 'list item', { name: sender, row: i, interactive: true })}><span class="grow"><span class="nb" style="${isNew}">${escape(sender)}</span> <span class="mu sm nb">${texts.time()}</span><br><span class="nb sm">${escape(subject)}</span></span>${controls.join('')}</div>`;
    });
  records.add('mail');
  const tools = [
    iconButton(draft, 'search').html,
    random.chance(0.5)
      ? iconButton(draft, 'edit', '', { name: 'compose' }).html
      : button(draft, random.pick(['New', 'Compose', 'Write'])).html,
  ];
  return `${bar(draft, random.pick(['Inbox', 'Mail', 'Messages', 'All mail']), tools.join(''))}<div ${mark(draft.id(), 'list')}>${rows.join('')}</div>${views.join('')}`;
}

/** Posts with their controls. */
export function feed(draft: Draft, { height }: Viewport): string {
  const { texts, random, theme } = draft;
  const records = new Records(draft);
  const icons = random
    .shuffled(['reply', 'heart', 'share', 'bookmark', 'chat', 'star'])
    .slice(0, texts.number(2, 4));
  const posts = texts
    .several(Math.max(2, Math.ceil(height / (theme.size * 6))), () => texts.personName())
    .map((name, i) => {
      const handle = `@${name
        .replace(/[^A-Za-z]/g, '')
        .toLowerCase()
        .slice(0, 9)}`;
      const text = texts.sentence(texts.number(3, 12));
      const row = records.row(name, text);
      const controls = icons.map((icon) =>
        records.action(icon, iconButton(draft, icon, 'data-pressable="" aria-pressed="false"', { row: i })),
      );
      const body = `b${draft.id()}`;
      const more = records.action(
        'more',
        iconButton(draft, 'more', `data-body="${body}" aria-expanded="false"`, { row: i }),
      );
      const items = texts
        .several(texts.number(2, 4), () => texts.label())
        .map(
          (each) =>
            records.action(each, { id: draft.id(), html: '' }) +
            `<span role="menuitem" ${mark(records.actions.at(-1)!.id, 'menu item', { row: i })}>${escape(each)}</span>`,
        );
      const menu = `<div id="${body}" class="menu drop" style="right:0;bottom:100%;top:auto" role="menu" data-popup="" hidden>${items.join('')}</div>`;
      return `<div class="mrow" ${mark(row, 'list item', { name, row: i })}><div class="rw nw" style="gap:4px">${avatar(draft, name)}<b class="nb">${escape(name)}</b><span class="mu sm nb">${handle}</span></div><p style="overflow-wrap:anywhere" ${mark(draft.id(), 'text', { row: i })}>${escape(text)}</p><div class="rw nw" style="gap:6px;position:relative">${controls.join('')}${more}${menu}</div></div>`;
    });
  records.add('feed');
  return (
    bar(draft, random.pick(['Home', 'Latest', 'Following', 'News']), iconButton(draft, 'bell').html) +
    posts.join('')
  );
}

/** A conversation with a field for the next message. */
export function chat(draft: Draft, { width, height }: Viewport): string {
  const { texts, random, theme } = draft;
  const partner = texts.personName();
  const count = Math.max(2, Math.floor((height - 60) / (theme.size * 3)));
  const bubbles = Array.from({ length: count }, () => {
    const own = random.chance(0.45);
    const look = own
      ? 'background:var(--ac);color:var(--oa);align-self:flex-end'
      : 'background:var(--sf);align-self:flex-start';
    return `<span class="bubble" style="${look}" ${mark(draft.id(), 'text')}>${escape(texts.sentence(texts.number(1, 7)))}</span>`;
  });
  const field = draft.id();
  const send = random.chance(0.5)
    ? iconButton(draft, 'send', 'data-send=""')
    : button(draft, random.pick(['Send', 'Post', 'OK']), 'data-send=""');
  draft.parts.push(
    { id: field, kind: 'field', name: 'Message', value: '' },
    { id: send.id, kind: 'buttons', name: 'Send' },
  );
  const input = `<input class="f" style="width:${width - 70}px" placeholder="${random.pick(['Message', 'Write a message', 'Aa', 'Type here'])}" spellcheck="false" autocomplete="off" ${mark(field, 'text field', { name: 'Message' })}>`;
  return `<div style="display:flex;flex-direction:column;height:100%">${bar(draft, partner, iconButton(draft, 'phone').html)}<div class="c" style="flex:1;min-height:0;overflow:hidden;padding:4px;align-items:stretch;justify-content:flex-end" data-bubbles="">${bubbles.join('')}</div><div class="rw nw" style="padding:3px">${input}${send.html}</div></div>`;
}

/** Files with size and date, and multiple selection. */
export function files(draft: Draft, { height, width }: Viewport): string {
  const { texts, random, theme } = draft;
  const records = new Records(draft);
  const names = texts.several(Math.max(3, Math.ceil(height / (theme.size * 1.9))), () =>
    random.chance(0.3)
      ? texts.cased(texts.word())
      : `${texts.phrase(1)}${random.pick(['', '_', '-'])}${texts.number(1, 99)}.${random.pick(['txt', 'pdf', 'png', 'zip', 'csv', 'doc', 'mp3'])}`,
  );
  const withBoxes = random.chance(0.5);
  const rows = names.map((name, i) => {
    const row = records.row(name);
    const icon = draft.icons.get(name.includes('.') ? 'file' : 'folder');
    const box = withBoxes ? records.action('check', checkbox(draft, name, i)) : '';
    const more = records.action(
      'delete',
      iconButton(draft, random.chance(0.5) ? 'trash' : 'close', '', { row: i }),
    );
    const size =
      width > 200
        ? `<td class="mu sm nb" ${mark(draft.id(), 'table cell', { row: i, column: 1 })}>${texts.quantity()}</td>`
        : '';
    const picture =
      icon === undefined
        ? ''
        : `<svg width="${theme.size}" height="${theme.size}" viewBox="0 0 ${icon.width} ${icon.height}" style="display:inline-block;vertical-align:-2px">${icon.body}</svg> `;
    return `<tr ${mark(row, 'table row', { name, row: i })}><td class="nb">${box}${picture}${element(draft, 'text', name)}</td>${size}<td>${more}</td></tr>`;
  });
  records.add('files');
  const tools = [
    iconButton(draft, 'upload').html,
    iconButton(draft, 'plus', '', { name: 'new folder' }).html,
  ];
  return `${bar(draft, random.pick(['Files', 'Documents', 'Downloads', texts.title().slice(0, 14)]), tools.join(''))}<table class="ln" style="width:100%" ${mark(draft.id(), 'table')}>${rows.join('')}</table>`;
}

function checkbox(draft: Draft, name: string, row: number): { id: number; html: string } {
  const id = draft.id();
  return { id, html: `<input type="checkbox" ${mark(id, 'checkbox', { name, row })}> ` };
}

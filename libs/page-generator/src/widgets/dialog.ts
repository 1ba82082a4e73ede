import { escape, mark, type Draft, type Widget } from '../draft';
import { svg } from '../look/icons';
import { lineHeight } from './texts';

function dialogContent(draft: Draft): string {
  const { texts, random } = draft;
  return random.pick([
    () => `<p>${escape(texts.sentence(texts.number(3, 9)))}</p>`,
    () => `<p>${escape(texts.sentence(texts.number(3, 6)))}</p>${draft.widget('field').html}`,
    () => draft.content(['checkboxes', 'radios', 'field', 'select', 'text', 'list'], 2).html,
  ])();
}

/**
 * A window over the page: a message, a question or a form, closed by its buttons or by the cross in its corner.
 * `isOpen` is its initial state; if false, `opener`, a button of the page, shows it.
 */
export function dialogHtml(draft: Draft, body: string, isOpen: boolean): string {
  const { texts, random, theme, icons } = draft;
  const id = draft.id();
  const width = Math.round(draft.width * random.pick([0.7, 0.8, 0.9]));
  const inner = draft.narrowed(width - 20);
  const name = texts.fresh(() => texts.title());
  const cross = icons.get('close');
  const close = draft.id();
  const crossHtml =
    cross !== undefined && random.chance(0.6) ? svg(cross, theme.size) : random.pick(['×', '✕', 'X']);
  const hasCross = random.chance(0.7);
  const corner = hasCross
    ? `<span role="button" tabindex="0" class="ib" data-closes="" ${mark(close, 'close button', { name: 'close', icon: 'close' })}>${crossHtml}</span>`
    : '';
  const names =
    hasCross && random.chance(0.2) ? [] : texts.several(texts.number(1, 2), () => texts.label().slice(0, 10));
  const buttons = names.map((label) => ({ id: draft.id(), name: label }));
  draft.parts.push({
    ...{ id, kind: 'dialog', name, value: isOpen },
    items: [...(hasCross ? [{ id: close, name: 'close' }] : []), ...buttons],
  });
  const buttonsHtml = buttons.map(
    (each) => `<button type="button" data-closes="" ${mark(each.id, 'button')}>${escape(each.name)}</button>`,
  );
  const head = `<div class="rw nw sb"><b>${escape(name)}</b>${corner}</div>`;
  const foot =
    buttons.length === 0
      ? ''
      : `<div class="rw" style="justify-content:flex-end">${buttonsHtml.join('')}</div>`;
  const place = random.pick(['center', 'center', 'center', 'flex-start', 'flex-end']);
  const shade = random.pick(['transparent', '#0002', '#0004', '#0006', '#fff6']);
  return `<div id="${body}" class="shade" style="align-items:${place};background:${shade}" data-closable=""${isOpen ? '' : ' hidden'}><div class="dlg c" style="width:${width}px" role="dialog" ${mark(id, 'dialog', { name })}>${head}${dialogContent(inner)}${foot}</div></div>`;
}

/** A button that opens a dialog. */
export function dialog(draft: Draft): Widget {
  const { texts } = draft;
  const id = draft.id();
  const name = texts.fresh(() => texts.label());
  const body = `b${draft.id()}`;
  draft.parts.push({ id, kind: 'buttons', name });
  return {
    html: `<div><button type="button" data-shows="${body}" ${mark(id, 'button')}>${escape(name)}</button>${dialogHtml(draft, body, false)}</div>`,
    height: lineHeight(draft) + 8,
  };
}

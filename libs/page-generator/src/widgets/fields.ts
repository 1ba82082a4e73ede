import { escape, mark, type Draft, type Widget } from '../draft';
import type { WidgetKind } from '../page';
import type { ElementKind } from '../truth';
import { lineHeight } from './texts';

/** Puts a label before a field, above it, or inside it as a placeholder. */
export function labelled(
  draft: Draft,
  name: string,
  control: (label: number | undefined, placeholder: string) => string,
  height: number,
): Widget {
  const place = draft.random.pick(['above', 'above', 'before', 'before', 'none']);
  if (place === 'none') return { html: control(undefined, name), height };
  const label = draft.id();
  const mute = draft.chance(0.2) ? ' class="mu"' : '';
  const caption = `<span ${mark(label, 'label', { name })}${mute}>${escape(name)}${draft.random.pick(['', '', ':', ' *'])}</span>`;
  const placeholder = draft.chance(0.35) ? draft.texts.value() : '';
  if (place === 'above')
    return {
      html: `<label style="display:block">${caption}<br>${control(label, placeholder)}</label>`,
      height: height + lineHeight(draft),
    };
  return { html: `<label>${caption} ${control(label, placeholder)}</label>`, height: height * 1.4 };
}

function fieldWidth(draft: Draft): number {
  return Math.round(draft.width * draft.random.pick([0.4, 0.5, 0.6, 0.75, 0.9, 1]));
}

function fieldHeight(draft: Draft): number {
  return lineHeight(draft) + 9;
}

interface FieldForm {
  kind: WidgetKind;
  element: ElementKind;
  type: string;
  value: string;
}

function input(draft: Draft, name: string, form: FieldForm): Widget {
  const id = draft.id();
  draft.parts.push({ id, kind: form.kind, name, value: form.value });
  const width = fieldWidth(draft);
  const aligned = draft.chance(0.06) ? ';text-align:right' : '';
  return labelled(
    draft,
    name,
    (label, placeholder) =>
      `<input class="f" type="${form.type}" value="${escape(form.value)}" placeholder="${escape(placeholder)}" spellcheck="false" autocomplete="off" style="width:${width}px${aligned}" ${mark(id, form.element, { name, label })}>`,
    fieldHeight(draft),
  );
}

export function field(draft: Draft): Widget {
  const { texts, random } = draft;
  const value = random.chance(0.55) ? texts.value() : '';
  const type = random.pick(['text', 'text', 'text', 'search', 'email', 'tel', 'url']);
  return input(
    draft,
    texts.fresh(() => texts.fieldName()),
    { kind: 'field', element: 'text field', type, value },
  );
}

export function password(draft: Draft): Widget {
  const { texts, random } = draft;
  const name = random.pick([
    'Password',
    'Password',
    'Passcode',
    'PIN',
    'Confirm password',
    'Secret',
    'New password',
  ]);
  const value = random.chance(0.6) ? texts.nonsense(texts.number(3, 12)) : '';
  return input(draft, name, { kind: 'password', element: 'password field', type: 'password', value });
}

export function spinButton(draft: Draft): Widget {
  const { texts } = draft;
  const value = String(texts.number(0, 200));
  return input(
    draft,
    texts.fresh(() => texts.fieldName()),
    { kind: 'spin button', element: 'spin button', type: 'number', value },
  );
}

export function textArea(draft: Draft): Widget {
  const { texts, random } = draft;
  const id = draft.id();
  const name = texts.fresh(() => texts.fieldName());
  const rows = texts.number(2, 5);
  const value = random.chance(0.6)
    ? random.pick([texts.paragraph(texts.number(1, 3)), texts.several(rows, () => texts.value()).join('\n')])
    : '';
  draft.parts.push({ id, kind: 'text area', name, value });
  const width = Math.round(draft.width * random.pick([0.6, 0.8, 1]));
  return labelled(
    draft,
    name,
    (label, placeholder) =>
      `<textarea rows="${rows}" placeholder="${escape(placeholder)}" spellcheck="false" style="width:${width}px;resize:none;vertical-align:top" ${mark(id, 'text area', { name, label })}>\n${escape(value)}</textarea>`,
    rows * lineHeight(draft) + 8,
  );
}

export function select(draft: Draft): Widget {
  const { texts, random } = draft;
  const id = draft.id();
  const name = texts.fresh(() => texts.fieldName());
  const names = texts.several(texts.number(2, 7), () => texts.label());
  const isList = random.chance(0.2);
  const chosen = isList && random.chance(0.4) ? -1 : random.below(names.length);
  const size = isList ? Math.min(names.length, texts.number(2, 5)) : 1;
  const items = names.map((each) => ({ id: draft.id(), name: each }));
  const look = random.pick(['system', 'system', 'own']);
  draft.parts.push({ id, kind: 'select', name, items, value: chosen < 0 ? null : names[chosen] });
  const options = items
    .map(
      ({ id: option, name: each }, i) =>
        `<option ${isList ? mark(option, 'option') : ''}${i === chosen ? ' selected' : ''}>${escape(each)}</option>`,
    )
    .join('');
  return labelled(
    draft,
    name,
    (label) =>
      `<select ${isList ? `size="${size}"` : ''} style="max-width:${draft.width}px" data-look="${look}" data-items="${items.map((item) => item.id).join(' ')}" ${mark(id, isList ? 'list' : 'select', { name, label })}>${options}</select>`,
    size * (lineHeight(draft) + 3) + 6,
  );
}

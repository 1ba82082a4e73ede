import { escape, mark, type Draft, type Widget } from '../draft';
import { lineHeight } from './texts';

/** Arranges the options of a group below each other or side by side. */
function arranged(draft: Draft, html: readonly string[]): Widget {
  const inRow = html.length < 4 && draft.chance(0.25);
  return {
    html: `<div class="${inRow ? 'rw' : 'c'}" style="gap:${inRow ? 6 : Math.min(4, draft.theme.gap)}px">${html.join('')}</div>`,
    height: (inRow ? 1.5 : html.length) * (lineHeight(draft) + 3),
  };
}

/** An option of checkboxes, radios and toggles: the control with its label before or after it. */
function optionHtml(
  draft: Draft,
  kind: 'checkbox' | 'radio' | 'toggle',
  name: string,
  group: string,
  checked: boolean,
): [number, string] {
  const id = draft.id();
  const label = draft.id();
  const type = kind === 'radio' ? 'radio' : 'checkbox';
  const look = kind === 'toggle' ? ' class="tg"' : '';
  const control = `<input type="${type}" name="${group}"${look}${checked ? ' checked' : ''} ${mark(id, kind, { name, label })}>`;
  const span = `<span ${mark(label, 'label', { name })}>${escape(name)}</span>`;
  const behind = kind === 'toggle' && draft.chance(0.4);
  return [
    id,
    behind ? `<label class="rw nw fill sb">${span}${control}</label>` : `<label>${control}${span}</label>`,
  ];
}

export function checkboxes(draft: Draft): Widget {
  const names = draft.texts.several(draft.random.pick([1, 2, 3, 3, 4, 5, 6]), () => draft.texts.label());
  const html = names.map((name) => {
    const checked = draft.chance(0.3);
    const [id, option] = optionHtml(draft, 'checkbox', name, `g${draft.id()}`, checked);
    draft.parts.push({ id, kind: 'checkboxes', name, value: checked });
    return option;
  });
  return arranged(draft, html);
}

export function toggles(draft: Draft): Widget {
  const names = draft.texts.several(draft.random.pick([1, 2, 3, 4]), () => draft.texts.label());
  const html = names.map((name) => {
    const checked = draft.chance(0.45);
    const [id, option] = optionHtml(draft, 'toggle', name, `g${draft.id()}`, checked);
    draft.parts.push({ id, kind: 'toggles', name, value: checked });
    return option;
  });
  return arranged(draft, html);
}

export function radios(draft: Draft): Widget {
  const { texts, random } = draft;
  const names = texts.several(random.pick([2, 3, 3, 4, 5]), () => texts.label());
  const group = draft.id();
  const chosen = random.chance(0.6) ? random.below(names.length) : -1;
  const title = texts.fieldName();
  const items = names.map((name, i) => ({
    name,
    option: optionHtml(draft, 'radio', name, `g${group}`, i === chosen),
  }));
  draft.parts.push({
    id: group,
    kind: 'radios',
    name: title,
    items: items.map(({ name, option }) => ({ id: option[0], name })),
    value: chosen < 0 ? null : names[chosen],
  });
  const { html, height } = arranged(
    draft,
    items.map(({ option }) => option[1]),
  );
  const caption = random.chance(0.4) ? `<div>${escape(title)}</div>` : '';
  return {
    html: `<div ${mark(group, 'group', { name: title })} role="radiogroup">${caption}${html}</div>`,
    height: height + (caption === '' ? 0 : lineHeight(draft)),
  };
}

import { escape, mark, type Draft, type Widget } from '../draft';
import { contrast, css, NAMED_COLORS } from '../look/colors';
import { svg } from '../look/icons';
import { lineHeight } from './texts';

/** Approximate number of lines for pieces of these lengths, side by side. */
function rows(draft: Draft, names: readonly string[], extra: number): number {
  const widths = names.map((name) => name.length * draft.theme.size * 0.55 + extra);
  return Math.max(1, Math.ceil(widths.reduce((sum, width) => sum + width, 0) / draft.width));
}

function buttonHtml(draft: Draft, id: number, name: string, primary: boolean): string {
  const { random, theme } = draft;
  const disabled = random.chance(0.04) ? ' disabled' : '';
  if (random.chance(0.12)) {
    return `<input type="button" value="${escape(name)}" ${mark(id, 'button', { name })}${disabled} class="btn">`;
  }
  const icon = random.chance(0.12) ? random.pick([...draft.icons.values()]) : undefined;
  const image =
    icon === undefined
      ? ''
      : svg(icon, theme.size, 'style="display:inline-block;vertical-align:-2px;margin-right:3px"');
  if (random.chance(0.1)) return coloredButton(draft, id, name);
  const look = primary && theme.buttons !== 'native' ? ' style="background:var(--ac);color:var(--oa)"' : '';
  return `<button type="button" ${mark(id, 'button')}${disabled}${look}>${image}${escape(name)}</button>`;
}

/** A button in a color with a common name. */
function coloredButton({ random }: Draft, id: number, name: string): string {
  const [color, rgb] = random.pick(Object.entries(NAMED_COLORS));
  const text = contrast(rgb, [255, 255, 255]) > 3 ? '#fff' : '#000';
  return `<button type="button" style="background:${css(rgb)};color:${text};border:1px solid var(--bd)" ${mark(id, 'button', { color })}>${escape(name)}</button>`;
}

export function buttons(draft: Draft): Widget {
  const { texts, random } = draft;
  const names = texts.several(random.pick([1, 1, 2, 2, 3, 4]), () => texts.label());
  const html = names.map((name, i) => {
    const id = draft.id();
    draft.parts.push({ id, kind: 'buttons', name });
    return buttonHtml(draft, id, name, i === 0 && random.chance(0.3));
  });
  const stacked = random.chance(0.2);
  return {
    html: `<div class="${stacked ? 'c' : 'rw'}">${html.join('')}</div>`,
    height: (stacked ? names.length : rows(draft, names, 24)) * (lineHeight(draft) + 8),
  };
}

export function links(draft: Draft): Widget {
  const { texts, random } = draft;
  const names = texts.several(random.pick([1, 2, 3, 4, 5]), () => texts.label());
  const html = names.map((name) => {
    const id = draft.id();
    draft.parts.push({ id, kind: 'links', name });
    return `<a href="#" ${mark(id, 'link')}>${escape(name)}</a>`;
  });
  const layout = random.pick(['rw', 'rw', 'c', 'text']);
  if (layout === 'text') {
    const content = html.map((each) => `${escape(texts.phrase(texts.number(1, 4)))} ${each}`).join(' ');
    return { html: `<p>${content}</p>`, height: rows(draft, [...names, ...names], 30) * lineHeight(draft) };
  }
  const lines = layout === 'c' ? names.length : rows(draft, names, draft.theme.gap);
  return {
    html: `<div class="${layout}">${html.join('')}</div>`,
    height: lines * (lineHeight(draft) + draft.theme.gap),
  };
}

/** Icons without text, each a button or a picture with its common name. */
export function icons(draft: Draft): Widget {
  const { random, texts } = draft;
  const names = random.shuffled([...draft.icons.keys()]).slice(0, texts.number(1, 6));
  const size = random.pick([12, 14, 16, 18, 20, 24]);
  const look = random.pick(['ib', 'ib', 'ib b']);
  const color = random.chance(0.4) ? 'color:var(--ac)' : '';
  const html = names.map((name) => {
    const id = draft.id();
    draft.parts.push({ id, kind: 'icons', name });
    const image = svg(draft.icons.get(name)!, size);
    return `<span role="button" tabindex="0" class="${look}" style="${color}" ${mark(id, 'icon', { name, icon: name, interactive: true })}>${image}</span>`;
  });
  return { html: `<div class="rw">${html.join('')}</div>`, height: size + 10 };
}

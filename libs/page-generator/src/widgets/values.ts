import { escape, mark, type Draft, type Widget } from '../draft';
import { lineHeight } from './texts';

export function slider(draft: Draft): Widget {
  const { texts, random } = draft;
  const id = draft.id();
  const [min, max] = random.pick([
    [0, 10],
    [0, 100],
    [1, 5],
    [-10, 10],
    [0, 50],
    [0, 1000],
  ] as const);
  const step = max - min > 200 ? 50 : random.pick([1, 1, Math.max(1, Math.round((max - min) / 10))]);
  const value = min + step * random.below(Math.floor((max - min) / step) + 1);
  const name = texts.fresh(() => texts.fieldName());
  draft.parts.push({ id, kind: 'slider', name, value, min, max, step });
  const width = Math.round(draft.width * random.pick([0.5, 0.65, 0.8]));
  const shown = random.chance(0.6) ? `<span data-shows-value="${id}">${value}</span>` : '';
  const caption = random.chance(0.6) ? `<div>${escape(name)}</div>` : '';
  const share = (100 * (value - min)) / (max - min);
  const control = random.chance(0.35)
    ? `<span class="track" style="width:${width}px" tabindex="0" role="slider" data-track="" data-min="${min}" data-max="${max}" data-step="${step}" ${mark(id, 'slider', { name, value: String(value) })}><span data-thumb="" style="left:${share}%"></span></span>`
    : `<input type="range" min="${min}" max="${max}" step="${step}" value="${value}" style="width:${width}px" ${mark(id, 'slider', { name })}>`;
  return {
    html: `<div>${caption}<div class="rw nw">${control}${shown}</div></div>`,
    height: (caption === '' ? 0 : lineHeight(draft)) + Math.max(20, lineHeight(draft)),
  };
}

const SIGNS: readonly (readonly [string, string])[] = [
  ['-', '+'],
  ['−', '+'],
  ['‹', '›'],
  ['◀', '▶'],
  ['▼', '▲'],
];
const ARROWS: readonly (readonly [string, string])[] = [
  ['▼', '▲'],
  ['▾', '▴'],
  ['-', '+'],
];

/** A value between decrease and increase buttons, or in a field beside them. */
export function stepper(draft: Draft): Widget {
  const { texts, random, theme } = draft;
  const form = random.chance(0.35) ? 'field' : 'signs';
  const [id, less, more] = [draft.id(), draft.id(), draft.id()];
  const value = texts.number(0, 20);
  const name = texts.fresh(() => texts.fieldName());
  draft.parts.push({
    id,
    kind: 'stepper',
    name,
    value,
    form,
    ...{ min: 0, max: 99, step: 1 },
    items: [
      { id: less, name: 'less' },
      { id: more, name: 'more' },
    ],
  });
  const [minus, plus] = random.pick(form === 'field' ? ARROWS : SIGNS);
  const button = (each: number, sign: string, label: string): string =>
    `<button type="button" data-by="${label === 'less' ? -1 : 1}" ${form === 'field' ? 'class="arrow"' : ''} ${mark(each, 'button', { name: `${label} ${name}` })}>${sign}</button>`;
  const [first, second] = [button(less, minus, 'less'), button(more, plus, 'more')];
  const content =
    form === 'field'
      ? `<input class="f" data-shown="" value="${value}" spellcheck="false" autocomplete="off" style="width:${3 * theme.size + 12}px">${random.chance(0.6) ? `<span class="c" style="gap:0">${second}${first}</span>` : first + second}`
      : `${first}<span data-shown="" style="min-width:1.5em;text-align:center">${value}</span>${second}`;
  return {
    html: `<div class="rw nw"><span>${escape(name)}</span><span class="rw nw" style="gap:3px" data-min="0" data-max="99" ${mark(id, 'stepper', { name, value: String(value) })}>${content}</span></div>`,
    height: lineHeight(draft) + 12,
  };
}

import { escape, mark, type Draft, type Widget } from '../draft';
import { css, fromHsl } from '../look/colors';
import { lineHeight } from './texts';

function randomColor({ random }: Draft): string {
  return css(fromHsl(random.below(360), 0.3 + 0.6 * random.next(), 0.3 + 0.4 * random.next()));
}

/** Vertical or horizontal bars with their names and values. */
export function chart(draft: Draft): Widget {
  const { texts, random } = draft;
  const id = draft.id();
  const count = texts.number(3, Math.max(3, Math.min(7, Math.floor(draft.width / 28))));
  const top = random.pick([10, 50, 100, 500]);
  const bars = texts
    .several(count, () =>
      random.pick([
        () => texts.word().slice(0, 5),
        () => texts.date().slice(0, 3),
        () => texts.nonsense(2),
      ])(),
    )
    .map((name) => ({ id: draft.id(), name, value: texts.number(1, top) }));
  draft.parts.push({
    id,
    kind: 'chart',
    name: '',
    items: bars.map((bar) => ({ ...bar, value: String(bar.value) })),
  });
  const colors = random.chance(0.5) ? bars.map(() => randomColor(draft)) : bars.map(() => 'var(--ac)');
  const showsValues = random.chance(0.6);
  if (random.chance(0.4)) {
    const rows = bars.map(
      ({ id, name, value }, i) =>
        `<div class="rw nw" style="gap:4px"><span class="nb sm" style="width:${Math.min(60, draft.width * 0.3)}px">${escape(name)}</span><span style="width:${Math.max(2, (value / top) * draft.width * 0.5)}px;height:${draft.theme.size}px;background:${colors[i]}" ${mark(id, 'bar', { name, value: String(value), row: i, interactive: true })}></span>${showsValues ? `<span class="sm">${value}</span>` : ''}</div>`,
    );
    return {
      html: `<div class="c" style="gap:3px" ${mark(id, 'group')}>${rows.join('')}</div>`,
      height: count * (lineHeight(draft) + 3),
    };
  }
  const height = random.pick([40, 60, 80]);
  const width = Math.floor(draft.width / count) - 3;
  const columns = bars.map(
    ({ id, name, value }, i) =>
      `<div style="display:flex;flex-direction:column;justify-content:flex-end;align-items:center;width:${width}px;overflow:hidden">${showsValues ? `<span class="sm">${value}</span>` : ''}<span style="width:70%;height:${Math.max(2, (value / top) * height)}px;background:${colors[i]}" ${mark(id, 'bar', { name, value: String(value), column: i, interactive: true })}></span><span class="sm nb">${escape(name)}</span></div>`,
  );
  return {
    html: `<div style="display:flex;gap:3px;align-items:stretch" ${mark(id, 'group')}>${columns.join('')}</div>`,
    height: height + 2.5 * lineHeight(draft),
  };
}

/** A picture: hills under a sky, stripes, circles, or a person's initials. */
export function pictureSvg(draft: Draft, width: number, height: number): string {
  const { random } = draft;
  const color = (): string => randomColor(draft);
  const content = random.pick([
    () =>
      `<rect width="100" height="100" fill="${color()}"/><circle cx="${random.below(100)}" cy="25" r="12" fill="#fd6"/><path d="M0 80L${20 + random.below(30)} 40 60 80 80 ${40 + random.below(30)} 100 70V100H0z" fill="${color()}"/>`,
    () =>
      `<rect width="100" height="100" fill="${color()}"/>${Array.from({ length: 4 }, () => `<circle cx="${random.below(100)}" cy="${random.below(100)}" r="${8 + random.below(25)}" fill="${color()}"/>`).join('')}`,
    () =>
      `<rect width="100" height="100" fill="${color()}"/>${Array.from({ length: 4 }, (_, i) => `<rect y="${25 * i}" width="100" height="12" fill="${color()}"/>`).join('')}`,
  ])();
  return `<svg width="${width}" height="${height}" viewBox="0 0 100 100" preserveAspectRatio="none">${content}</svg>`;
}

export function image(draft: Draft): Widget {
  const { texts, random } = draft;
  const id = draft.id();
  const name = texts.title();
  const width = Math.round(draft.width * random.pick([0.3, 0.5, 0.8]));
  const height = random.pick([30, 45, 60]);
  draft.parts.push({ id, kind: 'image', name });
  const caption = random.chance(0.5) ? `<div class="sm mu">${escape(name)}</div>` : '';
  return {
    html: `<div><span style="display:block;width:${width}px" ${mark(id, 'image', { name: caption === '' ? '' : name })}>${pictureSvg(draft, width, height)}</span>${caption}</div>`,
    height: height + lineHeight(draft),
  };
}

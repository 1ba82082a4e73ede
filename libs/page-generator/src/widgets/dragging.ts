import { escape, mark, type Draft, type Widget } from '../draft';
import { css, NAMED_COLORS } from '../look/colors';
import { lineHeight } from './texts';

/** Draggable items, and drop targets. */
export function dragAndDrop(draft: Draft): Widget {
  const { texts, random } = draft;
  const colored = random.chance(0.4);
  const colors = random.shuffled(
    Object.keys(NAMED_COLORS).filter((name) => !['white', 'black'].includes(name)),
  );
  const sources = Array.from({ length: texts.number(1, 4) }, (_, i) => ({
    id: draft.id(),
    name: colored ? `${colors[i]} square` : texts.fresh(() => texts.label().slice(0, 12)),
  }));
  const targets = Array.from({ length: texts.number(1, 3) }, () => ({
    id: draft.id(),
    name: texts.fresh(() => texts.label().slice(0, 12)),
  }));
  const group = draft.id();
  draft.parts.push({ id: group, kind: 'drag and drop', name: '', items: sources, value: targets });
  const sourceHtml = sources.map(({ id, name }, i) =>
    colored
      ? `<span class="drag" style="width:22px;height:22px;padding:0;background:${css(NAMED_COLORS[colors[i]])}" ${mark(id, 'drag source', { name, color: colors[i], shape: 'square' })}></span>`
      : `<span class="drag" ${mark(id, 'drag source', { name })}>${escape(name)}</span>`,
  );
  const height = Math.max(34, lineHeight(draft) + 26);
  const targetHtml = targets.map(
    ({ id, name }) =>
      `<div class="dropt" style="min-height:${height}px" ${mark(id, 'drop target', { name, interactive: true })}><span class="mu sm">${escape(name)}</span><div class="rw" data-drops="" style="gap:2px"></div></div>`,
  );
  const pieces = [
    `<div class="rw">${sourceHtml.join('')}</div>`,
    `<div class="rw nw fill">${targetHtml.join('')}</div>`,
  ];
  return {
    html: `<div class="c fill" ${mark(group, 'group')}>${(random.chance(0.3) ? pieces.toReversed() : pieces).join('')}</div>`,
    height: height + lineHeight(draft) + 16,
  };
}

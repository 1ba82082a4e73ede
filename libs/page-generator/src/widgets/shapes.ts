import { escape, mark, type Draft, type Widget } from '../draft';
import { contrast, css, NAMED_COLORS } from '../look/colors';

/** Shapes on a canvas of 20 × 20. */
const SHAPES: Readonly<Record<string, string>> = {
  circle: '<circle cx="10" cy="10" r="9"/>',
  square: '<rect x="1" y="1" width="18" height="18"/>',
  triangle: '<path d="M10 1L19 19H1z"/>',
  rectangle: '<rect x="1" y="5" width="18" height="10"/>',
  diamond: '<path d="M10 1L19 10 10 19 1 10z"/>',
  star: '<path d="M10 1l2.8 6 6.2.7-4.600 4.300 1.300 6.300L10 15.200 4.300 18.300 5.600 12 1 7.700 7.200 7z"/>',
  pentagon: '<path d="M10 1l9 6.700-3.400 10.800H4.400L1 7.700z"/>',
  ellipse: '<ellipse cx="10" cy="10" rx="9" ry="5"/>',
  cross: '<path d="M7 1h6v6h6v6h-6v6H7v-6H1V7h6z"/>',
};

const SIZES: Readonly<Record<string, number>> = { small: 12, medium: 22, large: 36 };

/** Coloured shapes, some with a character in them. */
export function shapes(draft: Draft): Widget {
  const { random, texts } = draft;
  const usable = Object.entries(NAMED_COLORS).filter(
    ([, color]) => contrast(color, draft.theme.background) > 1.25,
  );
  const oneSize = random.chance(0.5) ? random.pick(Object.keys(SIZES)) : undefined;
  const count = texts.number(2, 8);
  const html = Array.from({ length: count }, () => {
    const id = draft.id();
    const [color, rgb] = random.pick(usable);
    const shape = random.pick(Object.keys(SHAPES));
    const size = oneSize ?? random.pick(Object.keys(SIZES));
    draft.parts.push({ id, kind: 'shapes', name: `${color} ${shape}`, value: { color, shape, size } });
    const edge = Math.round(SIZES[size] * (0.9 + 0.2 * random.next()));
    const ink = contrast(rgb, [255, 255, 255]) > 3 ? '#fff' : '#000';
    const letter =
      edge > 16 && random.chance(0.2)
        ? `<span class="abs" style="inset:0;display:grid;place-items:center;font-size:11px;line-height:1;color:${ink}">${escape(texts.nonsense(1))}</span>`
        : '';
    return `<span style="position:relative;display:inline-block" ${mark(id, 'shape', { name: `${color} ${shape}`, color, shape, size, interactive: true })}><svg width="${edge}" height="${edge}" viewBox="0 0 20 20" fill="${css(rgb)}">${SHAPES[shape]}</svg>${letter}</span>`;
  });
  return {
    html: `<div class="rw">${html.join('')}</div>`,
    height: Math.ceil((count * 30) / draft.width) * SIZES[oneSize ?? 'large'] + 4,
  };
}

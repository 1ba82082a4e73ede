import { escape, mark, type Draft, type Widget } from '../draft';
import { contrast, css, NAMED_COLORS, type Rgb } from '../look/colors';

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

export const SHAPE_NAMES: readonly string[] = Object.keys(SHAPES);

const SIZES: Readonly<Record<string, number>> = { small: 12, medium: 22, large: 36 };

/** One shape, some with a character inside; `at` is its position in an area. */
function shapeHtml(draft: Draft, colors: readonly (readonly [string, Rgb])[], size: string, at = ''): string {
  const { random, texts } = draft;
  const id = draft.id();
  const [color, rgb] = random.pick(colors);
  const shape = random.pick(Object.keys(SHAPES));
  draft.parts.push({ id, kind: 'shapes', name: `${color} ${shape}`, value: { color, shape, size } });
  const edge = Math.round(SIZES[size] * (0.9 + 0.2 * random.next()));
  const ink = contrast(rgb, [255, 255, 255]) > 3 ? '#fff' : '#000';
  const letter =
    edge > 16 && random.chance(0.2)
      ? `<span class="abs" style="inset:0;display:grid;place-items:center;font-size:11px;line-height:1;color:${ink}">${escape(texts.nonsense(1))}</span>`
      : '';
  const turned = random.chance(0.15)
    ? `transform="rotate(${random.below(360)} 10 10) scale(.8) translate(2.5 2.5)"`
    : '';
  const place = at === '' ? 'position:relative;display:inline-block' : `position:absolute;${at}`;
  return `<span style="${place}" ${mark(id, 'shape', { name: `${color} ${shape}`, color, shape, size, interactive: true })}><svg width="${edge}" height="${edge}" viewBox="0 0 20 20" fill="${css(rgb)}"><g ${turned}>${SHAPES[shape]}</g></svg>${letter}</span>`;
}

/** Colored shapes: side by side, or at random positions in an area without touching. */
export function shapes(draft: Draft): Widget {
  const { random, texts } = draft;
  const usable = Object.entries(NAMED_COLORS).filter(
    ([, color]) => contrast(color, draft.theme.background) > 1.25,
  );
  const oneSize = random.chance(0.5) ? random.pick(Object.keys(SIZES)) : undefined;
  const sizeOf = (): string => oneSize ?? random.pick(Object.keys(SIZES));
  if (random.chance(0.4)) {
    const cell = oneSize === undefined ? 42 : SIZES[oneSize] + 8;
    const across = Math.max(1, Math.floor(draft.width / cell));
    const down = Math.max(2, Math.min(texts.number(2, 5), Math.floor(160 / cell)));
    const cells = random.shuffled(Array.from({ length: across * down }, (_, i) => i));
    const html = cells.slice(0, Math.max(1, Math.min(12, Math.ceil(cells.length * 0.6)))).map((at) => {
      const jitter = (): number => random.below(5);
      const [left, top] = [(at % across) * cell + jitter(), Math.floor(at / across) * cell + jitter()];
      return shapeHtml(draft, usable, sizeOf(), `left:${left}px;top:${top}px`);
    });
    const border = random.chance(0.5) ? 'border:1px solid var(--bd);' : '';
    return {
      html: `<div style="position:relative;${border}width:${across * cell}px;height:${down * cell}px">${html.join('')}</div>`,
      height: down * cell,
    };
  }
  const html = Array.from({ length: texts.number(2, 8) }, () => shapeHtml(draft, usable, sizeOf()));
  return {
    html: `<div class="rw">${html.join('')}</div>`,
    height: Math.ceil((html.length * 30) / draft.width) * SIZES[oneSize ?? 'large'] + 4,
  };
}

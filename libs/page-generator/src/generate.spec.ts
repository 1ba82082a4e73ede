import { FIRST_HELD_OUT_SEED, generatePage, WIDGET_KINDS } from './index';

it('gives the same page for the same seed', () => {
  for (const seed of [0, 7, 12_345, 2 ** 31 + 3]) expect(generatePage(seed)).toEqual(generatePage(seed));
  expect(generatePage(1).html).not.toBe(generatePage(2).html);
});

it('puts every kind of widget on pages, and only the wanted ones', () => {
  const kinds = new Set(
    Array.from({ length: 200 }, (_, seed) => generatePage(seed).parts.map(({ kind }) => kind)).flat(),
  );
  expect([...WIDGET_KINDS].filter((kind) => !kinds.has(kind))).toEqual([]);
  const page = generatePage(5, { kinds: ['slider'], viewport: { width: 160, height: 160 } });
  expect(page).toMatchObject({ width: 160, height: 160 });
  expect(page.parts.some(({ kind }) => kind === 'slider')).toBe(true);
});

it('has viewports in multiples of 16', () => {
  for (let seed = 0; seed < 100; seed++) {
    const { width, height } = generatePage(seed);
    expect([width % 16, height % 16]).toEqual([0, 0]);
  }
});

it('dresses pages for evaluation in kits that no other page has', () => {
  const kitsFrom = (first: number) => {
    const pages = Array.from({ length: 150 }, (_, i) => generatePage(first + i).html);
    return new Set(pages.flatMap((html) => /href="\/kits\/(@?[^"/]+)/.exec(html)?.[1] ?? []));
  };
  const [training, heldOut] = [kitsFrom(0), kitsFrom(FIRST_HELD_OUT_SEED)];
  expect(training.size).toBeGreaterThan(5);
  expect(heldOut.size).toBeGreaterThan(2);
  expect([...heldOut].filter((kit) => training.has(kit))).toEqual([]);
});

import { generatePage } from './index';

// An installed UI-RL package has none of the development dependencies.
jest.mock('./look/assets', () => ({
  assets: () => ({ fonts: [], fontPaths: new Map(), iconSets: [], kitFolders: new Map(), digest: 'nothing' }),
}));

it('makes pages of the fonts of the machine and its own icons where no packages are installed', () => {
  const pages = Array.from({ length: 150 }, (_, seed) => generatePage(seed));
  expect(pages.filter(({ html }) => /@font-face|\/kits\//.test(html))).toEqual([]);
  expect(new Set(pages.map(({ assets }) => assets))).toEqual(new Set(['nothing']));
  expect(pages.some(({ parts }) => parts.some(({ kind }) => kind === 'icons'))).toBe(true);
});

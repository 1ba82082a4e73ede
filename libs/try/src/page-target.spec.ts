import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { readPageTarget } from './page-target';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-target-'));
  const files = {
    'site/core/core.js': '',
    'site/games/one.html': '<script src="../core/core.js"></script><a href="../index.html">up</a>',
    'site/games/two.html': '<link rel=stylesheet href=../gone.css><script src="./own.js"></script>',
    'site/games/index.html': "<p>../core/core.js</p><img src='pictures/a.png'>",
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

it('a page that uses what lies above its folder is not opened without it, and told which folder has both', () => {
  expect(() => readPageTarget('site/games/one.html', folder)).toThrow(
    `one.html uses what lies above its folder, such as ../core/core.js: --root ${join(folder, 'site')} lets the page have it`,
  );
  expect(readPageTarget('site/games/one.html', folder, 'site')).toEqual({
    kind: 'folder',
    folder: join(folder, 'site'),
    page: 'site',
    path: 'games/one.html',
  });
});

it.each(['site/games/two.html', 'site/games'])('%s needs no more than its folder', (page) => {
  expect(readPageTarget(page, folder)).toMatchObject({ folder: join(folder, 'site/games'), page: 'games' });
});

it.each(['my page.html', 'Übung (1).HTM', '日本.xhtml'])('%s is a page by its name', (name) => {
  writeFileSync(join(folder, name), '<p>');
  expect(readPageTarget(name, folder)).toMatchObject({ folder, path: name });
});

it('a folder that does not hold the page, or is none, is refused', () => {
  expect(() => readPageTarget('site/games/one.html', folder, 'site/core')).toThrow(
    /one.html does not lie in .*core/,
  );
  expect(() => readPageTarget('site/games/one.html', folder, 'sites')).toThrow(
    /--root: there is no folder .*sites/,
  );
  expect(() => readPageTarget('http://localhost:3000', folder, 'site')).toThrow(
    /--root is for pages of this machine/,
  );
});

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Lab } from '../test/support';

const LINK = (href: string) =>
  `<!doctype html><body style="margin: 0"><a style="display: block; width: 160px; height: 224px" href="${href}">go</a>`;

/** The smallest WebAssembly module. */
const WASM = Buffer.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
);

const TYPES = {
  'a.JS': 'text/javascript; charset=utf-8',
  'a.cjs': 'text/javascript; charset=utf-8',
  'a.mjs': 'text/javascript; charset=utf-8',
  'a.CSS': 'text/css; charset=utf-8',
  'a.htm': 'text/html; charset=utf-8',
  'a.HTML': 'text/html; charset=utf-8',
  'a.xhtml': 'application/xhtml+xml',
  'a.xml': 'application/xml',
  'a.txt': 'text/plain; charset=utf-8',
  'a.wasm': 'application/wasm',
  'a.pdf': 'application/pdf',
  'a.PNG': 'image/png',
  'a.jpeg': 'image/jpeg',
  'a.avif': 'image/avif',
  'a.ico': 'image/vnd.microsoft.icon',
  'a.mp4': 'video/mp4',
  'a.webm': 'video/webm',
  'a.mp3': 'audio/mpeg',
  'a.otf': 'font/otf',
  'a.webmanifest': 'application/manifest+json',
  'a.unknown': 'application/octet-stream',
  'a.constructor': 'application/octet-stream',
  a: 'application/octet-stream',
};

/** File names, and how they appear in the address. */
const NAMES: Record<string, string> = {
  'my page.html': 'my%20page.html',
  'page (1).html': 'page%20(1).html',
  'a+b.html': 'a+b.html',
  'Übung.html': '%C3%9Cbung.html',
  '日本.html': '%E6%97%A5%E6%9C%AC.html',
  'in ner/index.html': 'in%20ner/index.html',
  '100%.html': '100%25.html',
  'what?.html': 'what%3F.html',
  'a#b.html': 'a%23b.html',
  '@home,~&=;!.html': '@home,~&=;!.html',
  'page.htm': 'page.htm',
};

describe('files of a local page', () => {
  const lab = new Lab();

  beforeAll(async () => {
    lab.page('types', '<p>types', Object.fromEntries(Object.keys(TYPES).map((name) => [name, ''])));
    lab.page(
      'uses',
      `<link rel="stylesheet" href="style.CSS"><img id="png" src="pic.PNG"><p id="styled">text</p>
       <script type="module" src="app.JS"></script>
       <script>
         window.uirl = { state: async () => ({
           module: document.title,
           png: png.naturalWidth,
           styled: getComputedStyle(styled).fontSize,
           wasm: await WebAssembly.instantiateStreaming(fetch('m.wasm')).then(() => 'ok', String),
         }) };
       </script>`,
      { 'style.CSS': '#styled { font-size: 31px }', 'app.JS': 'document.title = "ran"' },
    );
    write('uses', { 'm.wasm': WASM, 'pic.PNG': PNG });
    lab.page(
      'names',
      '<p>index',
      Object.fromEntries(Object.keys(NAMES).map((name) => [name, `<title>${name}</title>`])),
    );
    lab.page('folders', LINK('sub?q=1#there'), {
      'sub/index.html': LINK('next.html'),
      'sub/next.html': '<title>next</title>',
      'sub/empty/a.txt': '',
    });
    await lab.start();
  });
  afterAll(() => lab.stop());

  function write(page: string, files: Record<string, Buffer>): void {
    for (const [path, bytes] of Object.entries(files)) {
      mkdirSync(dirname(join(lab.pages[page], path)), { recursive: true });
      writeFileSync(join(lab.pages[page], path), bytes);
    }
  }

  it('are served with the media type of their ending, in capitals or not', async () => {
    const names = JSON.stringify(Object.keys(TYPES));
    const told = `Promise.all(${names}.map(async (name) => [name, (await fetch(name)).headers.get('content-type')]))`;
    writeFileSync(
      join(lab.pages.types, 'index.html'),
      `<script>window.uirl = { state: async () => Object.fromEntries(await ${told}) }</script>`,
    );
    expect(await (await lab.open({ page: 'types' })).close()).toEqual(TYPES);
  });

  it('can be scripts, styles, pictures and WebAssembly', async () => {
    const state = await (await lab.open({ page: 'uses' })).close();
    expect(state).toEqual({ module: 'ran', png: 1, styled: '31px', wasm: 'ok' });
  });

  it.each(['next.htm', 'N.HTML', 'next.xhtml', 'data.txt', 'doc.xml', 'notes.md'])(
    'are shown where a link leads to them: %s',
    async (name) => {
      lab.page('link', LINK(name), { [name]: '<html xmlns="http://www.w3.org/1999/xhtml"><body/></html>' });
      const player = await lab.open({ page: 'link' });
      expect((await player.act({ action: 'click', x: 20, y: 20 })).outcome).toBe('ok');
      expect(await player.close()).toMatchObject({ url: `http://link.uirl/${name}` });
    },
  );

  it.each(Object.entries(NAMES))('can have the name %s', async (path, shown) => {
    const state = await (await lab.open({ page: 'names', path })).close();
    expect(state).toEqual({ url: `http://names.uirl/${shown}`, title: path });
  });

  it('lie in folders, whose own page is shown below the address of the folder', async () => {
    const player = await lab.open({ page: 'folders' });
    await player.act({ action: 'click', x: 20, y: 20 });
    const reply = await player.act({ action: 'click', x: 20, y: 20 });
    expect(reply.outcome).toBe('ok');
    expect(await player.close()).toEqual({ url: 'http://folders.uirl/sub/next.html', title: 'next' });
    for (const path of ['sub', 'sub/']) {
      const state = await (await lab.open({ page: 'folders', path })).close();
      expect(state).toMatchObject({ url: 'http://folders.uirl/sub/' });
    }
  });

  it('are missing in a folder without an index page, and the error names the folder', async () => {
    await expect(lab.open({ page: 'folders', path: 'sub/empty' })).rejects.toThrow(
      'the folder of the page "folders" has no sub/empty/index.html',
    );
    await expect(lab.open({ page: 'folders', path: 'not here.html' })).rejects.toThrow(
      'has no not here.html',
    );
  });
});

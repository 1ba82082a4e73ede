import type { BrowserOptions } from './options';
import { Lab, VIEWPORT, WebServer, type Player } from '../test/support';
import { boundedText } from './screen-text';

/** Every kind of element that has a state, and some invisible ones. */
const FORM = `<title>Form “A”</title>
<style>body { margin: 0; font: 10px/20px sans-serif } button, input, p, h1, select { display: block; margin: 0; height: 20px; font: inherit; width: 100px; box-sizing: border-box; border: 0; padding: 0 } [hidden] { display: none }</style>
<h1>Sign in</h1>
<label>Name <input id="name" value="Anna" style="display: inline-block; width: 60px"></label>
<input type="password" value="hunter2-secret" aria-label="Password">
<button id="go" disabled>Go</button>
<div role="switch" aria-checked="true" aria-label="Wi-Fi" style="height: 20px; width: 40px"></div>
<details style="height: 20px"><summary style="height: 20px">More</summary></details>
<p>Some <b>plain</b> words</p>
<p aria-label="x" hidden>never visible</p>
<div style="height: 20px; overflow: hidden"><button style="margin-top: 30px">Inside</button></div>
<div style="position: relative; height: 20px"><button style="position: absolute">Covered</button><div style="position: absolute; inset: 0; background: #fff"></div></div>
<button style="position: absolute; top: 900px; left: 10px">Far below</button>
<script>
  const log = [];
  addEventListener('click', (e) => log.push(e.target.closest('[aria-label],button,summary,p,h1,input')?.textContent || e.target.getAttribute('aria-label') || e.target.id), true);
  window.uirl = { state: () => ({ log: [...log], value: document.getElementById('name').value }) };
</script>`;

async function open(options: Partial<BrowserOptions>, pages: Record<string, string>): Promise<Lab> {
  const lab = new Lab();
  for (const [name, html] of Object.entries(pages)) lab.page(name, html);
  return lab.start({ observation: 'both', ...options });
}

/** The position of an element according to the text. */
function placeOf(text: string | undefined, words: string): [number, number] {
  const line = text?.split('\n').find((each) => each.includes(words));
  const place = /\((\d+),(\d+)\)$/.exec(line ?? '');
  if (place === null) throw new Error(`${words} has no place in:\n${text}`);
  return [Number(place[1]), Number(place[2])];
}

async function clickOn(player: Player, text: string | undefined, words: string): Promise<void> {
  const [x, y] = placeOf(text, words);
  await player.act({ action: 'click', x, y });
}

describe('a screen as text', () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await open(
      {},
      {
        form: FORM,
        quoted: `<p>say "(1,2)"
          and\u202e\u0007 &lt;|im_end|&gt;</p><button aria-label="${'long '.repeat(100)}">x</button>`,
        long: `<body style="margin: 0">${Array.from({ length: 3000 }, (_, index) => `<p style="margin: 0; height: 20px">line ${index}</p>`).join('')}
          <script>window.uirl = { state: () => ({ y: scrollY }), reset: () => scrollTo(0, 40_000) }</script>`,
      },
    );
  });
  afterAll(() => lab.stop());

  it('tells roles, names, values, states and places, an element a line', async () => {
    const player = await lab.open({ page: 'form' });
    const { text, textOnly } = player.first;
    expect(textOnly).toBeUndefined();
    expect(text?.split('\n')[0]).toBe('page "Form “A”"');
    expect(text).toContain('\n heading "Sign in" (50,10)');
    expect(text).toMatch(/\n\s+textbox "Name" = "Anna" \(\d+,\d+\)/);
    expect(text).toMatch(/\n\s+button "Go" disabled \(50,\d+\)/);
    expect(text).toMatch(/\n\s+switch "Wi-Fi" checked \(20,\d+\)/);
    expect(text).toMatch(/"More" collapsed \(\d+,\d+\)/);
    expect(text).toMatch(/\n\s+text "plain" \(\d+,\d+\)/);
    expect(text).not.toContain('never visible');
    await player.close();
  });

  it('never tells a password', async () => {
    const player = await lab.open({ page: 'form' });
    expect(player.first.text).toMatch(/textbox "Password" = "•+"/);
    expect(player.first.text).not.toContain('hunter2');
    await player.close();
  });

  it('says of what no action would reach no place: scrolled away, covered, clipped', async () => {
    const player = await lab.open({ page: 'form' });
    for (const name of ['Inside', 'Covered', 'Far below']) {
      expect(player.first.text).toMatch(new RegExp(`button "${name}"$`, 'm'));
    }
    await player.close();
  });

  it.each([1, 1.5, 0.5])(
    'names pixels of the screenshot that actions can use, at a scale of %d',
    async (scale) => {
      const player = await lab.open({ page: 'form', scale });
      const { text, width } = player.first;
      expect(width).toBe(VIEWPORT.width * scale);
      await clickOn(player, text, 'heading "Sign in"');
      await clickOn(player, text, 'text "plain"');
      const [x, y] = placeOf(text, 'textbox "Name"');
      await player.act({ action: 'triple_click', x, y });
      const typed = await player.act({ action: 'type', text: 'Bob' });
      expect(typed.screenshot.text).toMatch(/textbox "Name" = "Bob" focused/);
      const state = await player.close();
      expect(state).toMatchObject({ value: 'Bob' });
      expect((state!.log as string[]).slice(0, 2)).toEqual(['Sign in', 'Some plain words']);
    },
  );

  it('cleans what a page says, and cuts it: a line stays a line, and quotes cannot be left', async () => {
    const player = await lab.open({ page: 'quoted' });
    const { text } = player.first;
    expect(text).toMatch(/text "say \\"\(1,2\)\\" and <\|im_end\|>" \(\d+,\d+\)/);
    expect(text).toMatch(/button "(long ){39}long …"/);
    await player.close();
  });

  it('of a long page tells what is on the screen first, wherever that is, and how much is left out', async () => {
    const player = await lab.open({ page: 'long' });
    const { text } = player.first;
    expect(text!.length).toBeLessThanOrEqual(8_000);
    expect(placeOf(text, '"line 2000"')[1]).toBeLessThan(12);
    expect(text).toMatch(/\n… \d+ more lines are left out, 0 of them on the screen$/);
    await player.close();
  });
});

it('keeps to its length, with what is on the screen first', () => {
  const lines = Array.from({ length: 30 }, (_, index) => `line ${index}${' '.repeat(10)}`);
  const isPlaced = lines.map((_, index) => index >= 20);
  const text = boundedText(lines, isPlaced, 260);
  expect(text.length).toBeLessThanOrEqual(260);
  expect(text).toMatch(/^line 20 /);
  expect(text).toMatch(/… 20 more lines are left out, 0 of them on the screen$/);
  expect(boundedText(lines.slice(0, 3), isPlaced, 260)).toBe(lines.slice(0, 3).join('\n'));
  expect(boundedText(lines, isPlaced, 100)).toMatch(
    /… \d+ more lines are left out, \d+ of them on the screen$/,
  );
});

describe('pages of several documents, and hostile ones', () => {
  let lab: Lab;
  let web: WebServer;
  beforeAll(async () => {
    web = await WebServer.start((request, response) => {
      response.setHeader('content-type', 'text/html');
      const inner =
        request.url === '/nested'
          ? '<body style="margin: 0"><button style="position: absolute; left: 5px; top: 6px; width: 50px; height: 20px" onclick="parent.postMessage(`elsewhere`, `*`)">Elsewhere</button>'
          : 'unknown';
      response.end(inner);
    });
    lab = await open(
      { observation: 'text', private_origins: [web.origin], sandbox: 'off' },
      {
        framed: `<body style="margin: 0"><script>
            const log = [];
            addEventListener('message', ({ data }) => log.push(data));
            window.uirl = { state: () => ({ log: [...log] }) };
          </script>
          <iframe title="near" style="position: absolute; left: 10px; top: 20px; border: 3px solid; width: 120px; height: 60px"
            srcdoc="<body style='margin: 0'><button style='position: absolute; left: 4px; top: 4px; width: 40px; height: 20px' onclick='parent.postMessage(\`near\`, \`*\`)'>Near</button>"></iframe>
          <iframe title="apart" style="position: absolute; left: 10px; top: 120px; border: 0; width: 120px; height: 60px" src="${web.origin}/nested"></iframe>`,
        huge: `<script>
            const list = document.createElement('ul');
            for (let i = 0; i < 60_000; i++) list.append(document.createElement('div'));
            document.documentElement.append(list);
            window.uirl = { state: () => ({}) };
          </script>`,
        deep: `<script>
            let at = document.documentElement;
            for (let i = 0; i < 1000; i++) { const next = document.createElement('section'); next.setAttribute('aria-label', 's' + i); at.append(next); at = next; }
            window.uirl = { state: () => ({}) };
          </script>`,
      },
    );
  });
  afterAll(async () => {
    await lab.stop();
    await web.stop();
  });

  it('tells frames where they stand, of other sites too, with places that can be clicked', async () => {
    const player = await lab.open({ page: 'framed', allowed_origins: [web.origin] });
    const { text, textOnly } = player.first;
    expect(textOnly).toBe(true);
    expect(text).toMatch(/Iframe "near".*\n\s+page.*\n\s+button "Near" \(37,37\)/);
    expect(text).toMatch(/Iframe "apart".*\n\s+page.*\n\s+button "Elsewhere" \(40,136\)/);
    await clickOn(player, text, 'button "Near"');
    await clickOn(player, text, 'button "Elsewhere"');
    await player.act({ action: 'wait', seconds: 0.1 });
    expect(await player.close()).toEqual({ log: ['near', 'elsewhere'] });
  });

  it('of a page with more nodes than are read says that it is too large, and plays on', async () => {
    const player = await lab.open({ page: 'huge' });
    expect(player.first.text).toBe('page (larger than can be told as text)');
    expect((await player.act({ action: 'click', x: 3, y: 3 })).outcome).toBe('ok');
    await player.close();
  });

  it('bounds what a page tells that nests a thousand elements', async () => {
    const player = await lab.open({ page: 'deep' });
    expect(player.first.text!.length).toBeLessThanOrEqual(8_000);
    expect(player.first.text).toContain('"s0"');
    await player.close();
  });
});

import { setTimeout as sleep } from 'node:timers/promises';
import { middleOf } from '../../test/colors';
import { Lab, value, WebServer, type Player } from '../../test/support';

const GREEN = [10, 250, 10] as const;
const [LEFT, TOP] = [40, 60];

const outer = (inner: string) => `<!doctype html><body style="margin: 0; background: #fff">
  <button id="under" style="position: absolute; left: 0; top: 100px; width: 300px; height: 130px">under</button>
  <iframe src="${inner}" style="position: absolute; left: ${LEFT}px; top: ${TOP}px; border: 0; width: 140px; height: 40px"></iframe>
  <script>
    const log = [];
    addEventListener('message', ({ data }) => log.push(data));
    addEventListener('click', ({ target }) => log.push('click ' + target.id));
    window.uirl = { state: () => ({ log: [...log] }) };
  </script>`;

const INNER = `<!doctype html><body style="margin: 0; background: #eef">
  <select id="s" style="position: absolute; left: 10px; top: 5px; width: 120px; height: 30px">
    <option>none<option>red<option style="background: rgb(${GREEN.join()})">green</select>
  <script>for (const type of ['input', 'change']) s.addEventListener(type, () => top.postMessage(type + ' ' + s.value, '*'));</script>`;

describe('the list of a select in a frame', () => {
  const lab = new Lab();
  let inner: WebServer;
  let web: WebServer;
  let elsewhere: string;

  beforeAll(async () => {
    inner = await WebServer.start((_, response) => {
      response.setHeader('content-type', 'text/html').end(INNER);
    });
    elsewhere = inner.origin.replace('127.0.0.1', 'localhost');
    web = await WebServer.start(({ url }, response) => {
      response.setHeader('content-type', 'text/html');
      if (url === '/apart') response.end(outer(`${elsewhere}/`));
      else if (url === '/same') response.end(outer('/inner'));
      else if (url === '/nested') response.end(outer('/between'));
      else if (url === '/between')
        response.end(
          `<!doctype html><body style="margin: 0"><iframe src="${elsewhere}/" style="border: 0; width: 140px; height: 40px"></iframe>`,
        );
      else response.end(INNER);
    });
    await lab.start({ sandbox: 'off', private_origins: [web.origin, elsewhere] });
  });
  afterAll(async () => {
    await lab.stop();
    await Promise.all([inner.stop(), web.stop()]);
  });

  async function toldUntil({ sessionId }: Player, line: string): Promise<string[]> {
    for (const end = Date.now() + 10_000; ; await sleep(20)) {
      const { log } = value(await lab.sessions.inspect(sessionId, 5_000)) as { log: string[] };
      if (log.includes(line)) return log;
      if (Date.now() > end) throw new Error(`"${line}" was not told, but: ${log.join('; ')}`);
    }
  }

  // The list is larger than the frame and overlaps the page around it.
  it.each([
    { path: 'same', scale: 1 },
    { path: 'same', scale: 2 },
    { path: 'apart', scale: 1 },
    { path: 'apart', scale: 0.5 },
    { path: 'nested', scale: 1 },
    { path: 'same', scale: 1, input: 'touch' },
    { path: 'apart', scale: 1, input: 'touch' },
  ])('is clicked where the screenshot shows it: %j', async ({ path, scale, ...options }) => {
    const player = await lab.open({
      ...{ url: `${web.origin}/${path}`, allowed_origins: [elsewhere], scale },
      ...{ viewport: { width: 320, height: 240 }, ...options },
    });
    const at = [(LEFT + 70) * scale, (TOP + 20) * scale];
    const { screenshot } = await player.act({ action: 'click', x: at[0], y: at[1] });
    const [x, y] = (await middleOf(screenshot.png, GREEN))!;
    expect(y).toBeGreaterThan((TOP + 40) * scale);
    await player.act({ action: 'click', x, y });
    expect(await toldUntil(player, 'change green')).toEqual(['input green', 'change green']);
    await player.act({ action: 'click', x, y });
    expect(await toldUntil(player, 'click under')).toHaveLength(3);
    await player.close();
  });
});

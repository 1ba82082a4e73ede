import { setTimeout as sleep } from 'node:timers/promises';
import { Lab, value, WebServer, type Player } from '../test/support';

const LEFT = 20;
const TOP = 32;

/** Both documents report their events in the page's state; the frame reports positions relative to itself. */
const outer = (inner: string) => `<!doctype html><body style="margin: 0; background: #fff">
  <iframe src="${inner}" style="position: absolute; left: ${LEFT}px; top: ${TOP}px; border: 0; width: 120px; height: 160px"></iframe>
  <script>
    const log = [];
    addEventListener('message', ({ data }) => log.push(data));
    addEventListener('click', ({ clientX, clientY }) => log.push('outside ' + clientX + ',' + clientY));
    window.uirl = { state: () => ({ log: [...log] }) };
  </script>`;

const INNER = `<!doctype html><body style="margin: 0; height: 2000px; background: #eef; user-select: none">
  <input id="field" style="position: absolute; left: 0; top: 0; width: 80px; height: 20px; box-sizing: border-box">
  <script>
    const tell = (words) => parent.postMessage(words, '*');
    for (const type of ['mousedown', 'mouseup', 'click']) addEventListener(type, (e) => tell(type + ' ' + e.clientX + ',' + e.clientY));
    addEventListener('scroll', () => tell('scrolled to ' + scrollY));
    field.addEventListener('input', () => tell('value ' + field.value));
  </script>`;

describe('a frame of another site', () => {
  const lab = new Lab();
  let inner: WebServer;
  let web: WebServer;
  let elsewhere: string;

  beforeAll(async () => {
    inner = await WebServer.start((_, response) => {
      response.setHeader('content-type', 'text/html').end(INNER);
    });
    elsewhere = inner.origin.replace('127.0.0.1', 'localhost');
    web = await WebServer.start((_, response) => {
      response.setHeader('content-type', 'text/html').end(outer(`${elsewhere}/`));
    });
    await lab.start({ sandbox: 'off', private_origins: [web.origin, elsewhere] });
  });
  afterAll(async () => {
    await lab.stop();
    await Promise.all([inner.stop(), web.stop()]);
  });

  const open = (options: Record<string, unknown>) =>
    lab.open({ url: `${web.origin}/`, allowed_origins: [elsewhere], ...options });

  /** Polls the reported lines until one matches. */
  async function toldUntil({ sessionId }: Player, line: string): Promise<string[]> {
    for (const end = Date.now() + 10_000; ; await sleep(20)) {
      const { log } = value(await lab.sessions.inspect(sessionId, 5_000)) as { log: string[] };
      if (log.includes(line)) return log;
      if (Date.now() > end) throw new Error(`the log does not have "${line}", but: ${log.join('; ')}`);
    }
  }

  // A device pixel ratio changes how screenshots are taken; its positions can only be whole CSS pixels.
  it.each([{ scale: 1 }, { scale: 0.5 }, { scale: 2 }, { scale: 3, device: 'iPhone 14', input: 'mouse' }])(
    'takes clicks, text, drags and the wheel where they are pointed, right after a screenshot: %j',
    async (options) => {
      const { scale } = options;
      const player = await open(options);
      const at = (x: number, y: number): [number, number] => [(LEFT + x) * scale, (TOP + y) * scale];
      const [fieldX, fieldY] = at(40, 8);
      await player.act({ action: 'click', x: fieldX, y: fieldY });
      await player.act({ action: 'type', text: 'ab' });
      for (const where of [100, 60, 20]) {
        const [x, y] = at(where, 120);
        await player.act({ action: 'click', x, y });
      }
      await player.act({ action: 'drag', from: at(12, 60), to: at(72, 100) });
      const [scrolledX, scrolledY] = at(60, 80);
      await player.act({ action: 'scroll', direction: 'down', amount: 2, x: scrolledX, y: scrolledY });
      const log = await toldUntil(player, 'scrolled to 200');
      await player.act({ action: 'click', x: 8 * scale, y: 12 * scale });
      expect(log.filter((line) => !line.startsWith('scrolled'))).toEqual([
        ...['mousedown 40,8', 'mouseup 40,8', 'click 40,8', 'value a', 'value ab'],
        ...[100, 60, 20].flatMap((x) => [`mousedown ${x},120`, `mouseup ${x},120`, `click ${x},120`]),
        ...['mousedown 12,60', 'mouseup 72,100', 'click 72,100'],
      ]);
      expect((await player.close())!.log).toEqual([...log, 'outside 8,12']);
    },
  );

  it('takes the taps of a finger as clicks', async () => {
    const player = await open({ input: 'touch', scale: 0.5 });
    await player.act({ action: 'click', x: (LEFT + 40) / 2, y: (TOP + 60) / 2 });
    await player.act({ action: 'click', x: 4, y: 6 });
    expect(await toldUntil(player, 'click 40,60')).toEqual(expect.arrayContaining(['outside 8,12']));
    await player.close();
  });
});

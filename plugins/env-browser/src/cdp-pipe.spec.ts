import { setImmediate as turn } from 'node:timers/promises';
import { PassThrough } from 'node:stream';
import { CdpPipe } from './cdp-pipe';

const MIB = 2 ** 20;

describe('the protocol over pipes', () => {
  let fromBrowser: PassThrough;
  let pipe: CdpPipe;
  let received: Record<string, unknown>[];
  let ends: number;
  let floods: string[];

  beforeEach(async () => {
    // Shares refill over time, also while a loaded machine parses.
    jest.spyOn(performance, 'now').mockReturnValue(0);
    fromBrowser = new PassThrough();
    received = [];
    floods = [];
    ends = 0;
    pipe = new CdpPipe(new PassThrough(), fromBrowser, () => void ends++);
    pipe.onmessage = (message) => received.push(message as Record<string, unknown>);
    for (const name of ['noisy', 'quiet']) {
      const params = { sessionId: name, targetInfo: { browserContextId: `context of ${name}` } };
      await browserSays(JSON.stringify({ method: 'Target.attachedToTarget', params }));
      pipe.traffic.watch(`context of ${name}`, () => floods.push(name));
    }
    received.length = 0;
  });

  afterEach(() => jest.restoreAllMocks());

  async function browserSays(text: string, chunkBytes = 65_536): Promise<void> {
    const bytes = Buffer.from(`${text}\0`);
    for (let begin = 0; begin < bytes.length; begin += chunkBytes) {
      fromBrowser.write(bytes.subarray(begin, begin + chunkBytes));
    }
    for (let i = 0; i < 3; i++) await turn();
  }

  const event = (session: string, text = '', method = 'Page.happened') =>
    `{"method":"${method}","params":{"text":${JSON.stringify(text)}},"sessionId":"${session}"}`;

  it.each([1, 7, 65_536])('takes messages as they come, %d bytes at a time', async (chunkBytes) => {
    await browserSays(`{"id":1,"result":{"a":"ä"}}\0${event('quiet', 'x')}`, chunkBytes);
    expect(received).toEqual([
      { id: 1, result: { a: 'ä' } },
      { method: 'Page.happened', params: { text: 'x' }, sessionId: 'quiet' },
    ]);
  });

  it('makes an answer that is too large an error, and continues', async () => {
    await browserSays(`{"id":7,"result":{"value":"${'x'.repeat(33 * MIB)}"},"sessionId":"noisy"}`);
    await browserSays('{"id":8,"result":{}}');
    expect(received).toEqual([
      {
        id: 7,
        error: { code: -32_000, message: expect.stringMatching(/^an answer of 346\d+ bytes/) as string },
        sessionId: 'noisy',
      },
      { id: 8, result: {} },
    ]);
    expect(floods).toEqual([]);
  });

  it('takes large screenshots', async () => {
    pipe.send({ id: 9, method: 'Page.captureScreenshot' });
    await browserSays(`{"id":9,"result":{"data":"${'x'.repeat(40 * MIB)}"}}`);
    const { data } = received[0].result as { data: string };
    expect(data).toHaveLength(40 * MIB);
  });

  it('counts an event that is too large as a flood of its page', async () => {
    await browserSays(event('noisy', 'x'.repeat(33 * MIB)));
    await browserSays(event('noisy', 'more'));
    await browserSays(event('quiet'));
    expect(floods).toEqual(['noisy']);
    expect(received).toMatchObject([{ sessionId: 'quiet' }]);
  });

  it('cuts off a page that tells too much, once, and hears the others', async () => {
    for (let i = 0; i < 6; i++) await browserSays(Array(1_000).fill(event('noisy')).join('\0'));
    expect(floods).toEqual(['noisy']);
    expect(received.length).toBeGreaterThanOrEqual(5_000);
    const heard = received.length;
    await browserSays(`${event('noisy')}\0${event('quiet')}\0{"id":1,"result":{},"sessionId":"noisy"}`);
    expect(received.slice(heard)).toMatchObject([{ sessionId: 'quiet' }, { id: 1 }]);
  });

  it('does not listen to the console, and counts it', async () => {
    const line = event('noisy', 'x', 'Runtime.consoleAPICalled');
    await browserSays(Array(1_000).fill(line).join('\0'));
    expect({ received, floods }).toEqual({ received: [], floods: [] });
    for (let i = 0; i < 15; i++) await browserSays(Array(1_000).fill(line).join('\0'));
    expect({ received, floods }).toEqual({ received: [], floods: ['noisy'] });
  });

  it('is not misled by what a page says', async () => {
    await browserSays(event('quiet', '"},"sessionId":"noisy"}'.repeat(3)));
    await browserSays(
      `{"method":"Page.happened","params":{"text":"${'x'.repeat(33 * MIB)}\\",\\"sessionId\\":\\"noisy\\"}"}}`,
    );
    expect(floods).toEqual([]);
  });

  it('ends a browser that sends an invalid message', async () => {
    await browserSays('{"id":1,');
    expect(ends).toBe(1);
  });

  it('reports the end, also to later listeners', async () => {
    const told: string[] = [];
    pipe.onclose = () => told.push('first');
    fromBrowser.destroy();
    for (let i = 0; i < 5; i++) await turn();
    pipe.onclose = () => told.push('later');
    await turn();
    expect(told).toEqual(['first', 'later']);
    expect(() => pipe.send({ id: 1 })).toThrow('the browser is gone');
  });
});

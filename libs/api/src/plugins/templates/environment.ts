import type { Template } from '../template';

export const environment: Template = {
  type: 'EnvironmentComponent',
  types: { component: ['Screenshot'] },
  options: 'width: number;\n  height: number;',
  description: 'A grey screen that every click makes brighter.',
  imports: {
    component: { 'node:crypto': 'createHash', 'node:zlib': 'crc32, deflateSync' },
    test: { 'node:crypto': 'createHash' },
  },
  before: `
//js /**
//js  * @param {string} type of four letters
//js  * @param {Buffer} data
//js  */
function chunk(type/*ts : string*/, data/*ts : Buffer*/) {
  const body = Buffer.concat([Buffer.from(type), data]);
  const ends = [Buffer.alloc(4), Buffer.alloc(4)];
  ends[0].writeUInt32BE(data.length);
  ends[1].writeUInt32BE(crc32(body));
  return Buffer.concat([ends[0], body, ends[1]]);
}

/**
 * A picture as environments give it: PNG, with its sha256.
//js  *
//js  * @param {number} grey 0 to 255
//js  * @param {number} width
//js  * @param {number} height
//js  * @returns {import('@ui-rl/plugin-kit').Screenshot}
 */
function picture(grey/*ts : number*/, width/*ts : number*/, height/*ts : number*/)/*ts : Screenshot*/ {
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0]); // 8 bits, grey
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  const rows = Buffer.alloc((width + 1) * height, grey);
  for (let y = 0; y < height; y += 1) rows[y * (width + 1)] = 0; // no filter
  const png = Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
  return { png, sha256: createHash('sha256').update(png).digest('hex'), width, height };
}
`,
  members: `
  options: {
    width: { type: 'integer', default: 160, atLeast: 32, description: 'of the screen, in pixels' },
    height: { type: 'integer', default: 224, atLeast: 32, description: 'of the screen, in pixels' },
  },
  // What may fail in the world (a program that is gone, a deadline) is a value: { ok: false, error: { code: 'crashed', message } }.
  create: async ({ width, height }) => ({
    async open({ seed }) {
      let clicks = seed % 3; // the same seed, the same first frame
      const look = () => picture(Math.min(255, 40 * clicks), width, height);
      return {
        ok: true,
        value: {
          screenshot: look(),
          state: { clicks },
          async step(action) {
            const known = action.action === 'click';
            if (known) clicks += 1;
            const outcome = known ? 'ok' : 'unsupported_action';
            return { ok: true, value: { screenshot: look(), outcome, done: false, state: { clicks } } };
          },
          async close() {
            return { ok: true, value: { clicks } };
          },
          async discard() {},
        },
      };
    },
    async close() {},
  }),`,
  test: `
const context = { pages: {}, maxSessions: 2, programs: {}, log: () => undefined };
const deadline = { deadlineAt: Date.now() + 10_000, signal: new AbortController().signal };
const task = { description: 'Click once' };

async function open(seed/*ts : number*/) {
  const environment = await component.create({ width: 40, height: 50 }, context);
  const reply = await environment.open({ task, seed }, deadline);
  assert.ok(reply.ok);
  return reply.value;
}

test('the same seed gives the same first frame', async () => {
  const [first, again, another] = [await open(4), await open(4), await open(5)];
  assert.equal(first.screenshot.sha256, again.screenshot.sha256);
  assert.notEqual(first.screenshot.sha256, another.screenshot.sha256);
  const { png, sha256 } = first.screenshot;
  assert.equal(createHash('sha256').update(png).digest('hex'), sha256);
});

test('a click changes screen and state, anything else says what is wrong', async () => {
  const session = await open(0);
  const clicked = await session.step({ action: 'click', x: 1, y: 2 }, deadline);
  assert.ok(clicked.ok);
  assert.equal(clicked.value.outcome, 'ok');
  assert.notEqual(clicked.value.screenshot.sha256, session.screenshot.sha256);
  const waited = await session.step({ action: 'wait', seconds: 1 }, deadline);
  assert.ok(waited.ok);
  assert.equal(waited.value.outcome, 'unsupported_action');
  assert.deepEqual(await session.close(deadline), { ok: true, value: { clicks: 1 } });
});`,
  choice: 'environment: { kind: NAME }',
};

import { createHash } from 'node:crypto';
import { crc32, deflateSync } from 'node:zlib';
import type { EnvironmentComponent, Screenshot } from '@ui-rl/plugin-kit';

interface Options {
  width: number;
  height: number;
}

/**
 * @param {string} type of four letters
 * @param {Buffer} data
 */
function chunk(type: string, data: Buffer) {
  const body = Buffer.concat([Buffer.from(type), data]);
  const ends = [Buffer.alloc(4), Buffer.alloc(4)];
  ends[0].writeUInt32BE(data.length);
  ends[1].writeUInt32BE(crc32(body));
  return Buffer.concat([ends[0], body, ends[1]]);
}

/**
 * A screenshot: PNG, with its sha256.
 *
 * @param {number} grey 0 to 255
 * @param {number} width
 * @param {number} height
 * @returns {import('@ui-rl/plugin-kit').Screenshot}
 */
function picture(grey: number, width: number, height: number): Screenshot {
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

const component: EnvironmentComponent<Options> = {
  kind: 'environment',
  name: 'my-component',
  description: 'A grey screen that every click makes brighter.',
  options: {
    width: { type: 'integer', default: 160, atLeast: 32, description: 'screen size in pixels' },
    height: { type: 'integer', default: 224, atLeast: 32, description: 'screen size in pixels' },
  },
  // An expected failure (a crashed program, a deadline) is a value: { ok: false, error: { code: 'crashed', message } }.
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
  }),
};

export default component;

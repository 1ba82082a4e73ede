import sharp from 'sharp';
import { frameOf } from './frame';

const OPTIONS = { picture: 'screenshot', text: 'text', observation: 'both' } as const;
const MIB = 2 ** 20;

it.each([
  ['one line', 'x'.repeat(59 * MIB)],
  ['empty lines', '\n'.repeat(59 * MIB)],
  ['characters that no screen shows', '\u0007'.repeat(59 * MIB)],
])(
  'draws the beginning of a text of 59 MiB (%s) at once',
  async (_name, text) => {
    const frame = await frameOf({ text }, OPTIONS, 'a server');
    expect([frame.width, frame.height]).toEqual([640, 480]);
    expect((frame as { text?: string }).text!.length).toBeLessThanOrEqual(100_000);
  },
  20_000,
);

it('draws the same for a long text as for its beginning', async () => {
  const line = 'The quick brown fox. ';
  const [whole, start] = await Promise.all(
    [20_000, 100].map((count) => frameOf({ text: line.repeat(count) }, OPTIONS, 'a server')),
  );
  const [one, other] = await Promise.all([whole, start].map(({ png }) => sharp(png).raw().toBuffer()));
  expect(one.equals(other)).toBe(true);
});

const zeros = (count: number): number[] => Array.from({ length: count }, () => 0);

it.each([
  ['sides', Array.from({ length: 100_000 }, () => zeros(1)).with(0, zeros(100_000))],
  ['channels', Array.from({ length: 100_000 }, () => []).with(0, [zeros(100_000)] as never)],
  ['rows', Array.from({ length: 8_193 }, () => [0])],
])('refuses a picture of too many %s before it takes memory for it', async (_name, screenshot) => {
  await expect(frameOf({ screenshot }, OPTIONS, 'a server')).rejects.toThrow(/not a rectangle of pixels/);
});

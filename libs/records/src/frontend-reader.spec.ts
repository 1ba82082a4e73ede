import { FrontendReader, type ReadMessages } from './frontend-reader';

const message = (type: string, text = ''): Buffer => {
  const head = Buffer.alloc(5);
  head.write(type, 'latin1');
  head.writeInt32BE(4 + text.length, 1);
  return Buffer.concat([head, Buffer.from(text)]);
};
const request = (code: number, text = ''): Buffer => {
  const head = Buffer.alloc(8);
  head.writeInt32BE(8 + text.length);
  head.writeInt32BE(code, 4);
  return Buffer.concat([head, Buffer.from(text)]);
};
const STARTUP = request(196_608, 'user\0me\0\0');

function readAll(chunks: readonly Buffer[]): ReadMessages & { isEnded: boolean } {
  const reader = new FrontendReader();
  const read = chunks.map((chunk) => reader.read(chunk));
  const { isEnded } = reader;
  return {
    units: read.flatMap(({ units }) => units),
    answers: read.flatMap((each) => each.answers),
    isEnded,
  };
}

test.each([1, 2, 7, 1_000])('messages are found in pieces of %i bytes', (size) => {
  const extended = [message('P', 'SELECT $1'), message('B', '1'), message('S')];
  const all = Buffer.concat([STARTUP, ...extended, message('Q', 'SELECT 2\0'), message('X')]);
  const pieces = Array.from({ length: Math.ceil(all.length / size) }, (_, at) =>
    all.subarray(at * size, (at + 1) * size),
  );
  const { units, isEnded } = readAll(pieces);
  expect(units.map((unit) => Buffer.concat(unit))).toEqual([
    STARTUP,
    Buffer.concat(extended),
    message('Q', 'SELECT 2\0'),
  ]);
  expect(units[1]).toHaveLength(3);
  expect(isEnded).toBe(true);
});

test('encryption is declined, and the connection continues without', () => {
  const { units, answers } = readAll([request(80_877_103), STARTUP]);
  expect(answers).toEqual([Buffer.from('N')]);
  expect(units).toEqual([[STARTUP]]);
});

test('a request to cancel ends its connection', () => {
  expect(readAll([request(80_877_102, '12345678')])).toMatchObject({ units: [], isEnded: true });
});

test.each([
  ['a startup that claims a gigabyte', [request(196_608).fill(0x7f, 0, 4)]],
  ['a message without a length', [STARTUP, Buffer.from('Q\0\0\0\x01')]],
  ['a message above the limit', [STARTUP, Buffer.from('Q\x7f\xff\xff\xff')]],
])('%s is refused', (_, chunks) => {
  expect(() => readAll(chunks)).toThrow(/expected \d+ to \d+/);
});

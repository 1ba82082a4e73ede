import { PassThrough } from 'node:stream';
import { ask } from './ask';

test('an input that ends, or a terminal that is closed, is not an answer', async () => {
  const ended = new PassThrough();
  const asked = ask('overwrite? ', { input: ended, output: new PassThrough() });
  ended.end();
  expect(await asked).toBeUndefined();

  const closed = new PassThrough();
  const lost = ask('overwrite? ', { input: closed, output: new PassThrough() });
  closed.destroy(Object.assign(new Error('read EIO'), { code: 'EIO' }));
  expect(await lost).toBeUndefined();
});

test('an answer is the line', async () => {
  const input = new PassThrough();
  const asked = ask('overwrite? ', { input, output: new PassThrough() });
  input.write('resume\n');
  expect(await asked).toBe('resume');
});

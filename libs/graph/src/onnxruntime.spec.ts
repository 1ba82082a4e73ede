import { Graph } from './graph';
import { ops } from './index';
import { Session } from './session';
import { tensor } from './tensor';

test('float16 data is held in bits, on a Node that has Float16Array, too', async () => {
  const graph = new Graph('halves');
  const halves = graph.input('halves', 'float16', [3]);
  graph.output('numbers', ops.cast(halves, 'float32'));
  graph.output('same', ops.reshape(halves, [3]));
  const session = await Session.create(graph);
  const fed = tensor('float16', [1, -2.5, 0.125]);
  const { numbers, same } = await session.run({ halves: fed });
  expect(numbers.data).toEqual(Float32Array.from([1, -2.5, 0.125]));
  expect(same.data).toEqual(Uint16Array.from([0x3c00, 0xc100, 0x3000]));
  await session.release();
});

import { ServedForm } from '../../test/served-form';

let form: ServedForm;
beforeAll(async () => {
  form = await ServedForm.open();
});
afterAll(() => form.close());

const first = {
  task_id: 'first',
  description: 'Submit once: first',
  category: null,
  difficulty: null,
  max_steps: 4,
};
const second = { ...first, task_id: 'second', description: 'Submit once: second' };
const split = 'train';

it('lists environments and splits', async () => {
  expect((await form.ask('/list_environments')).body).toEqual(['browser']);
  expect((await form.ask('/Browser/splits')).body).toEqual([{ name: 'train', type: 'train' }]);
});

it.each<[string, object, object]>([
  ['tasks', { split }, { tasks: [first, second], env_name: 'browser' }],
  ['num_tasks', { split }, { num_tasks: 2 }],
  ['task', { split, index: 1 }, { task: second }],
  ['task_range', { split, start: 1 }, { tasks: [second] }],
  ['task_range', { split, start: null, stop: -1 }, { tasks: [first] }],
  ['task_range', { split, start: 5 }, { tasks: [] }],
])('answers %s %j', async (path, body, expected) => {
  expect(await form.post(`/browser/${path}`, body)).toMatchObject({ status: 200, body: expected });
});

it.each<[string, unknown, number, RegExp]>([
  ['/phone/tasks', { split }, 404, /no environment "phone": there is browser/],
  ['/browser/tasks', { split: 'test' }, 422, /found "test", expected "train"/],
  ['/browser/tasks', [], 422, /split/],
  ['/browser/task', { split, index: 2 }, 422, /found 2, expected 0 to 1/],
  ['/browser/task', { split }, 422, /expected 0 to 1/],
  ['/browser/task_range', { split, start: 'a' }, 422, /start/],
])('refuses %s %j', async (path, body, status, message) => {
  const answer = await form.post(path, body);
  expect(answer.status).toBe(status);
  expect(JSON.stringify(answer.body).replaceAll('\\"', '"')).toMatch(message);
});

it('gives ids that start episodes', async () => {
  const { body } = await form.post('/browser/task', { split, index: 0 });
  const { task_id } = body.task as unknown as { task_id: string };
  expect((await form.post('/reset', { task_id })).body.observation).toMatchObject({ task_id });
  await form.leaveHttp();
});

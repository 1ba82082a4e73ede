import type { Template } from '../template';

const PAGE = `<!doctype html>
<meta name="viewport" content="width=160" />
<body style="margin: 0; font: 24px sans-serif; text-align: center">
  <p id="count">0</p>
  <button id="add" style="width: 120px; height: 60px">Add</button>
  <script>
    let count = 0;
    const show = () => (document.getElementById('count').textContent = count);
    document.getElementById('add').onclick = () => {
      count += 1;
      show();
    };
    window.uirl = {
      reset({ seed }) {
        count = seed % 2; // the same seed, the same state
        show();
      },
      state: () => ({ count }),
    };
  </script>
</body>
`;

export const taskSource: Template = {
  type: 'TaskSourceComponent',
  options: 'limit: number;',
  description: 'Counting on a page.',
  imports: { component: { 'node:path': 'join' }, test: { 'node:fs': 'existsSync', 'node:path': 'join' } },
  members: `
  options: {
    limit: { type: 'integer', default: 3, atLeast: 1, atMost: 9, description: 'tasks at most' },
  },
  // A page is a folder with an index.html; its name is that of no other source's page.
  pages: { 'NAME': join(__dirname, '..', 'page') },
  create: ({ limit }) => ({
    load: () =>
      Array.from({ length: limit }, (_, index) => ({
        id: 'count_to_' + (index + 2),
        description: 'Count to ' + (index + 2),
        maxSteps: 12,
        environment: { kind: 'browser', options: { page: 'NAME', viewport: { width: 160, height: 224 } } },
        checks: [{ path: 'count', operator: 'equals', value: index + 2 }],
      })),
  }),`,
  test: `
const context = { log: () => undefined, resolve: () => null };
const deadline = { deadlineAt: Date.now() + 10_000, signal: new AbortController().signal };

test('has as many tasks as were asked for, each with an id of its own and a check', async () => {
  const tasks = await component.create({ limit: 3 }, context).load(deadline);
  assert.deepEqual(
    tasks.map(({ id }) => id),
    ['count_to_2', 'count_to_3', 'count_to_4'],
  );
  for (const { checks } of tasks) assert.equal(checks?.length, 1);
});

test('brings the page that its tasks are played on', async () => {
  const [task] = await component.create({ limit: 1 }, context).load(deadline);
  const page = component.pages?.[String(task.environment?.options.page)];
  assert.ok(existsSync(join(String(page), 'index.html')));
});`,
  files: { 'page/index.html': PAGE },
  choice: 'tasks: { source_type: NAME, limit: 2 }',
};

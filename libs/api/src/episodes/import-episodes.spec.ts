import { copyFile, mkdir, mkdtemp, readdir, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Trajectory } from '@ui-rl/contracts';
import { EpisodeFile } from '@ui-rl/episode';
import sharp from 'sharp';
import { importEpisodes, type ImportEpisodesOptions } from './import-episodes';

const FLAGS = ['--model.prompt', 'compact'];

let dir: string;
const path = (name: string): string => join(dir, name);

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'import-'));
  await mkdir(path('images'));
  const image = sharp({ create: { width: 200, height: 100, channels: 3, background: '#8af' } });
  await image.clone().png().toFile(path('images/a.png'));
  await image.clone().jpeg().toFile(path('images/b.jpg'));
  await symlink('/etc/hostname', path('images/link.png'));
  await writeFile(path('images/text.png'), 'not an image');
  await copyFile(path('images/a.png'), path('images/cut.png'));
  await truncate(path('images/cut.png'), 60);
});
afterAll(() => rm(dir, { recursive: true }));

type Options = Partial<ImportEpisodesOptions> & Pick<ImportEpisodesOptions, 'from'>;

async function imported(content: unknown, options: Options) {
  const file = path('given');
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  const out = path('out.jsonl');
  const report = await importEpisodes({ path: file, out, flags: FLAGS, images: path('images'), ...options });
  const trajectories: Trajectory[] = [];
  for await (const { trajectory } of new EpisodeFile(out).read()) trajectories.push(trajectory);
  return { report, trajectories, texts: trajectories.map(({ turns }) => turns.map(({ text }) => text)) };
}

const user = (text: string, image = 'a.png') => ({
  role: 'user',
  content: [
    { type: 'text', text },
    { type: 'image_url', image_url: { url: image } },
  ],
});
const call = (name: string, fields: object) => ({
  ...{ role: 'assistant', content: null },
  tool_calls: [{ id: 'c', type: 'function', function: { name, arguments: JSON.stringify(fields) } }],
});

it('reads calls and texts of chat messages, and says what it left out', async () => {
  const messages = [
    { role: 'system', content: 'You operate a computer.' },
    { role: 'assistant', content: 'Hello' },
    user('Open the menu'),
    call('click', { x: 10, y: 20 }),
    { role: 'tool', tool_call_id: 'c', content: 'done' },
    call('open_app', { name: 'Mail' }),
    user('', 'b.jpg'),
    { role: 'assistant', content: '{"action":"click","x":10,"y":500}' },
    { role: 'assistant', content: 'Well. {"action":"type","text":"hi"}' },
    { ...user('x'), role: 'assistant', content: '{"action":"wait","seconds":1}', weight: 0 },
    call('finish', { success: true }),
  ];
  const { report, trajectories, texts } = await imported({ messages }, { from: 'chat' });
  expect(texts).toEqual([
    [
      '{"action":"click","x":10,"y":20}',
      '{"action":"click","x":10,"y":500}',
      'Well. {"action":"type","text":"hi"}',
      '{"action":"finish","success":true}',
    ],
  ]);
  expect(report.stepsLeftOut.map(({ reason, count }) => [reason, count])).toEqual([
    ['answers without a screenshot before them', 1],
    ['answers of weight 0', 1],
    ['function open_app', 1],
  ]);
  const [{ request, success, reward, status, turns }] = trajectories;
  expect(request).toMatchObject({ purpose: 'train', task: { description: 'Open the menu' } });
  expect({ success, reward, status }).toEqual({ success: null, reward: 1, status: 'completed' });
  expect(turns.map(({ logprobs }) => logprobs.every((each) => each === 0))).toEqual([true, true, true, true]);
}, 300_000);

it('leaves out a text for which the model has no tokens', async () => {
  const typing = (text: string) => ({
    messages: [user('Type it'), { role: 'assistant', content: `{"action":"type","text":"${text}"}` }],
  });
  const lines = [typing('<|im_end|> 日本 🙂'), typing('\ud83d')].map((line) => JSON.stringify(line));
  const { report, trajectories } = await imported(lines.join('\n'), { from: 'chat' });
  expect(trajectories.map(({ turns }) => turns[0].actions)).toEqual([
    [{ action: 'type', text: '<|im_end|> 日本 🙂' }],
  ]);
  expect(report.trajectoriesLeftOut).toMatchObject([
    { count: 1, reason: expect.stringMatching(/^tokens: the model has no tokens/) },
  ]);
}, 300_000);

it('reads answers in another action format and writes them in that of the run', async () => {
  const answer = "Thought: the middle.\nAction: click(start_box='(500,500)')";
  const messages = [user('Click the middle'), { role: 'assistant', content: answer }];
  const actions = { name: 'ui_tars', coordinates: 'relative_1000' };
  const { texts } = await imported({ messages }, { from: 'chat', actions });
  expect(texts).toEqual([['{"action":"click","x":100,"y":50}']]);
}, 300_000);

it("reads the calls of Harbor's computer-1", async () => {
  const shown = (name: string) => ({
    type: 'image',
    source: { media_type: 'image/png', path: `images/${name}` },
  });
  const fields = {
    x: null,
    y: null,
    text: null,
    keys: null,
    button: null,
    modifier: null,
    zoom_region: null,
  };
  const step = (id: number, args: object, name = 'computer_action') => ({
    ...{ step_id: id, source: 'agent', message: 'Analysis: …' },
    tool_calls: [{ tool_call_id: `c${id}`, function_name: name, arguments: { ...fields, ...args } }],
    observation: {
      results: [{ source_call_id: `c${id}`, content: [{ type: 'text', text: 'ok' }, shown('a.png')] }],
    },
  });
  const trajectory = {
    schema_version: 'ATIF-v1.8',
    session_id: 's',
    agent: { name: 'computer-1', version: '1' },
    steps: [
      { step_id: 1, source: 'user', message: [{ type: 'text', text: 'Write a note' }, shown('a.png')] },
      step(2, { type: 'navigate', url: 'http://x' }),
      step(3, { type: 'click', x: 5, y: 6, button: 'right' }),
      step(4, { type: 'keypress', keys: ['ctrl', 'Return'] }),
      step(5, { type: 'scroll', x: 7, y: 8, scroll_y: -250 }),
      step(6, { type: 'click', x: 1, y: 1, modifier: 'ctrl' }),
      { ...step(7, { type: 'type', text: 'copied' }), is_copied_context: true },
      step(8, { result: 'done' }, 'mark_task_complete'),
    ],
  };
  const { report, texts } = await imported(trajectory, { from: 'atif', images: dir });
  expect(texts).toEqual([
    [
      '{"action":"right_click","x":5,"y":6}',
      '{"action":"key","keys":["ctrl","enter"]}',
      '{"action":"scroll","direction":"up","amount":2,"x":7,"y":8}',
      '{"action":"click","x":1,"y":1,"modifiers":["ctrl"]}',
      '{"action":"finish","success":true,"message":"done"}',
    ],
  ]);
  expect(report.stepsLeftOut.map(({ reason }) => reason).toSorted()).toEqual([
    'computer_action navigate',
    'steps copied from an earlier trajectory',
  ]);
}, 300_000);

it('reads AgentNet', async () => {
  const code = (python: string, value: object = {}) => ({
    image: 'a.png',
    value: { code: python, ...value },
  });
  const line = {
    ...{ task_id: 't1', instruction: 'Rename the file', task_completed: true },
    traj: [
      code('pyautogui.click(x=0.5, y=0.25)'),
      code('pyautogui.click(x=0, y=0)', { last_step_correct: false }),
      code('pyautogui.moveTo(x=0.1, y=0.2)\npyautogui.scroll(-3)'),
      code("pyautogui.moveTo(x=0.1, y=0.2)\npyautogui.dragTo(x=0.9, y=0.8, button='left')"),
      code('computer.tripleClick(x=0.999, y=1)'),
      code("pyautogui.hotkey(['ctrl', 'c'])"),
      code('browser.clear(x=0.1, y=0.1)'),
      code("computer.terminate(status='success')"),
    ],
  };
  const { report, trajectories, texts } = await imported(line, { from: 'agentnet' });
  expect(texts).toEqual([
    [
      '{"action":"click","x":100,"y":25}',
      '{"action":"scroll","direction":"down","amount":3,"x":20,"y":20}',
      '{"action":"drag","from":[20,20],"to":[180,80]}',
      '{"action":"triple_click","x":199,"y":99}',
      '{"action":"key","keys":["ctrl","c"]}',
      '{"action":"finish","success":true}',
    ],
  ]);
  expect(trajectories[0]).toMatchObject({ success: true, reward: 1, request: { task: { id: 't1' } } });
  expect(report.stepsLeftOut.map(({ reason }) => reason).toSorted()).toEqual([
    'browser.clear',
    'steps that the file marks as incorrect',
  ]);
}, 300_000);

it('reads the files of Aguvis, AndroidControl among them', async () => {
  const sample = (python: string, more: object[] = []) => ({
    image: 'a.png',
    conversations: [
      { from: 'system', value: 'You are a GUI agent.' },
      {
        from: 'human',
        value:
          '<image>\nPlease generate the next move.\n\nInstruction: Turn on Wi-Fi\n\nPrevious actions:\nNone',
      },
      { from: 'gpt', recipient: 'all', value: 'Thought: …', end_turn: false },
      { from: 'gpt', recipient: 'os', value: python, end_turn: true },
      ...more,
    ],
  });
  const { report, trajectories, texts } = await imported(
    [
      sample('pyautogui.click(x=0.5, y=0.5)'),
      sample('mobile.swipe(from_coord=[0.5, 0.9], to_coord=[0.5, 0.1])'),
      sample('mobile.back()'),
      sample("answer('7 o\\'clock')"),
      sample("mobile.open_app(app_name='Mail')"),
    ],
    { from: 'aguvis' },
  );
  expect(texts).toEqual([
    ['{"action":"click","x":100,"y":50}'],
    ['{"action":"swipe","from":[100,90],"to":[100,10]}'],
    ['{"action":"button","button":"back"}'],
    ['{"action":"finish","success":true,"message":"7 o\'clock"}'],
  ]);
  expect(trajectories[0].request.task.description).toBe('Turn on Wi-Fi');
  expect(report.stepsLeftOut).toMatchObject([{ reason: 'mobile.open_app', count: 1 }]);
  expect(report.trajectoriesLeftOut).toMatchObject([{ reason: 'no step could be expressed', count: 1 }]);
}, 300_000);

const chat = (...messages: unknown[]) => ({ messages });
const said = { role: 'assistant', content: '{"action":"wait","seconds":1}' };

const RECORD = {
  ...{ run: 'r', rollout_id: 'r-0', task: { description: 'x' }, seed: 1, status: 'completed' },
  ...{ success: true, reward: 1, rewards: {}, policy_version: 0 },
};

it.each<[string, unknown, Options, RegExp]>([
  ['no JSON', '{"messages": [', { from: 'chat' }, /given, line 1: expected JSON/],
  [
    'another type',
    chat({ role: 'bot' }),
    { from: 'chat' },
    /messages\[0\]\.role: expected "system" or .*"bot"/,
  ],
  ['no goal', chat(said), { from: 'chat' }, /expected a text of the user/],
  [
    'a path above',
    chat(user('x', '../secret.png'), said),
    { from: 'chat' },
    /expected a path inside .*\.\.\/secret\.png/,
  ],
  [
    'a whole path',
    chat(user('x', '/etc/hostname'), said),
    { from: 'chat' },
    /expected a path inside .*\/etc\/hostname/,
  ],
  [
    'a link that leaves',
    chat(user('x', 'link.png'), said),
    { from: 'chat' },
    /expected a path inside .*link\.png/,
  ],
  [
    'an address',
    chat(user('x', 'https://x/a.png'), said),
    { from: 'chat' },
    /found the address https:.*download it/,
  ],
  ['a folder', chat(user('x', ''), said), { from: 'chat' }, /expected the path of an image, found ""/],
  [
    'a goal that is too long',
    chat(user('x'.repeat(4001)), said),
    { from: 'chat' },
    /no trajectory could be imported: .*description: must be shorter/,
  ],
  ['a missing image', chat(user('x', 'none.png'), said), { from: 'chat' }, /there is no image .*none\.png/],
  [
    'no image',
    chat(user('x', 'text.png'), said),
    { from: 'chat' },
    /messages\[1\].*cannot be decoded as an image/,
  ],
  ['half an image', chat(user('x', 'cut.png'), said), { from: 'chat' }, /given, line 1/],
  [
    'an address of no image',
    chat(user('x', 'data:text/html,x'), said),
    { from: 'chat' },
    /expected a data URL of an image/,
  ],
  [
    'a false record',
    { ...chat(user('x'), said), ui_rl: { run: 1 } },
    { from: 'chat' },
    /ui_rl: .*run: must be a string/,
  ],
  [
    'a list for a turn',
    { ...chat(user('x'), said), ui_rl: { ...RECORD, turns: [[]] } },
    { from: 'chat' },
    /ui_rl: turns\.0: must be an object, found an array/,
  ],
  [
    'another version',
    { schema_version: 'ATIF-v2.0' },
    { from: 'atif' },
    /schema_version: expected "ATIF-v1\.8"/,
  ],
  [
    'steps of another type',
    { schema_version: 'ATIF-v1.8', steps: {} },
    { from: 'atif' },
    /steps: expected a list, found {}/,
  ],
  ['no archive', 'PK\u0003\u0004 cut', { from: 'playwright' }, /given: expected a ZIP archive/],
  ['no list', {}, { from: 'aguvis' }, /expected a list, found {}/],
  [
    'a code of another type',
    { task_id: 't', instruction: 'i', traj: [{ image: 'a.png', value: { code: 1 } }] },
    { from: 'agentnet' },
    /traj\[0\]\.value\.code: expected a text, found 1/,
  ],
])(
  'refuses %s and leaves no file',
  async (_, content, options, message) => {
    await rm(path('out.jsonl'), { force: true });
    await expect(imported(content, options)).rejects.toThrow(message);
    expect((await readdir(dir)).filter((name) => name.startsWith('out'))).toEqual([]);
  },
  300_000,
);

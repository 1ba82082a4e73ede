import {
  ComponentRegistry,
  loadTasks,
  TASK_CATEGORIES,
  TASK_DIFFICULTIES,
  type TaskSourceChoice,
} from '@ui-rl/plugin-kit';
import { allGoals } from './grammar';
import { wordsOf } from './vocabulary';
import { components, evaluationTasks, resolve, trainingTasks, vocabulary } from './index';

const meaning = (task: { checks?: unknown; environment?: unknown }) => JSON.stringify(task.checks);
const allWords = (sentences: string[]) => new Set(sentences.flatMap(wordsOf));

describe('the catalogue', () => {
  it('has at least 40 training and 16 evaluation tasks of every category and difficulty', () => {
    expect(trainingTasks.length).toBeGreaterThanOrEqual(40);
    expect(evaluationTasks.length).toBeGreaterThanOrEqual(16);
    for (const category of TASK_CATEGORIES) {
      expect(trainingTasks.some((task) => task.category === category)).toBe(true);
      expect(evaluationTasks.some((task) => task.category === category)).toBe(true);
    }
    for (const difficulty of TASK_DIFFICULTIES) {
      expect(trainingTasks.some((task) => task.difficulty === difficulty)).toBe(true);
      expect(evaluationTasks.some((task) => task.difficulty === difficulty)).toBe(true);
    }
    expect(trainingTasks.slice(0, 2).map(({ id }) => id)).toEqual([
      'train_01_open_settings',
      'train_02_enable_wifi',
    ]);
    expect(new Set([...trainingTasks, ...evaluationTasks].map(({ id }) => id)).size).toBe(
      trainingTasks.length + evaluationTasks.length,
    );
  });

  it('has no evaluation goal that is a training goal, in its words or in its meaning', () => {
    const trained = trainingTasks.flatMap((task) => [task.description.toLowerCase(), meaning(task)]);
    for (const task of evaluationTasks) {
      expect(trained).not.toContain(task.description.toLowerCase());
      expect(trained).not.toContain(meaning(task));
    }
  });

  it('combines words of training goals into evaluation goals', () => {
    const known = allWords(trainingTasks.map(({ description }) => description));
    const words = allWords(evaluationTasks.map(({ description }) => description));
    expect([...words].filter((word) => !known.has(word))).toEqual([]);
  });
});

describe('the grammar', () => {
  it('keeps to eight words of the vocabulary', () => {
    const known = new Set(vocabulary());
    for (const { sentence } of allGoals()) {
      const words = wordsOf(sentence);
      expect(words.length).toBeLessThanOrEqual(8);
      expect(words.filter((word) => !known.has(word) && !/^\d$/.test(word))).toEqual([]);
    }
  });
});

describe('resolve()', () => {
  it.each([
    ['Turn on Bluetooth', 'Turn on Bluetooth'],
    ['  please ENABLE the wifi. ', 'Turn on Wi-Fi'],
    ['Open the Settings app', 'Open Settings'],
    ['first switch off vibrate, then silent', 'First turn off Vibrate, then Silent'],
    ['type "hello" to anna and click send', 'Type "hello" to Anna and click Send'],
    ['click bell to open alerts', 'Click the bell to open Alerts'],
    ['Click the heart after river.', 'Click the heart after River'],
    ['Set brightness to 5', 'Set Brightness to 5'],
  ])('reads %p', (text, canonical) => {
    const task = resolve(text)!;
    expect(task.description).toBe(canonical);
    expect(task.checks!.length).toBeGreaterThan(0);
    expect(task.maxSteps).toBeGreaterThan(1);
    expect(task.environment!.kind).toBe('browser');
  });

  it.each([
    'Bake a cake',
    'Turn on',
    'First turn on Wi-Fi, then Vibrate',
    'First turn on Wi-Fi, then Wi-Fi',
    '',
  ])('does not pretend to know %p', (text) => {
    expect(resolve(text)).toBeNull();
  });
});

const registry = new ComponentRegistry(components.map((component) => ({ component, file: 'here' })));
const load = (choice: TaskSourceChoice) => loadTasks(registry, [choice]);

describe('the sources', () => {
  it('filters by category and difficulty, draws by seed, cuts at the limit', async () => {
    const settings = await load({
      source_type: 'demo_training',
      category: 'settings',
      difficulty: 'easy',
    });
    expect(settings.length).toBeGreaterThan(5);
    expect(settings.every((task) => task.category === 'settings' && task.difficulty === 'easy')).toBe(true);
    const draw = async (seed: number) =>
      (await load({ source_type: 'demo_eval', limit: 5, seed })).map(({ id }) => id);
    expect(await draw(1)).toHaveLength(5);
    expect(await draw(1)).toEqual(await draw(1));
    expect(await draw(1)).not.toEqual(await draw(2));
  });

  it('starts each task on the screen of its first action that matters', async () => {
    const startOf = async (source: string, id: string) => {
      const tasks = await load({ source_type: source, start: 'near' });
      return tasks.find((task) => task.id === id)!.environment!.options.reset as object;
    };
    const screen = (name: string) => ({ start: expect.objectContaining({ screen: name }) as object });
    expect(await startOf('demo_training', 'train_23_disable_data')).toMatchObject(screen('settings/network'));
    expect(await startOf('demo_training', 'train_04_open_camera')).toMatchObject(screen('home'));
    expect(await startOf('demo_training', 'train_11_open_network_settings')).toMatchObject(
      screen('settings'),
    );
    expect(await startOf('demo_training', 'train_07_go_home')).toMatchObject(screen('settings/network'));
    expect(await startOf('demo_eval', 'eval_04_disable_torch')).toMatchObject(screen('alerts'));
  });

  it('takes ids, and all', async () => {
    const byId = await load({
      source_type: 'ids',
      task_ids: ['eval_01_open_language_settings', 'train_02_enable_wifi'],
    });
    expect(byId.map(({ id }) => id)).toEqual(['eval_01_open_language_settings', 'train_02_enable_wifi']);
    expect(await load({ source_type: 'demo_all' })).toEqual([...trainingTasks, ...evaluationTasks]);
  });

  it.each([
    [{ source_type: 'demo_training', colour: 'red' }, /task-source demo_training: unknown option "colour"/],
    [{ source_type: 'demo_training', category: 'games' }, /category is "games", expected one of system/],
    [{ source_type: 'demo_eval', limit: 0 }, /limit is 0/],
    [{ source_type: 'demo_eval', seed: 'x' }, /seed is "x"/],
    [{ source_type: 'ids' }, /task_ids is missing, expected a list/],
    [{ source_type: 'ids', task_ids: ['train_99'] }, /task_ids is "train_99"/],
    [
      { source_type: 'demo' },
      /no task-source is named "demo" \(known: demo_all, demo_eval, demo_training, ids\)/,
    ],
  ])('refuses %j', async (config, message) => {
    await expect(load(config)).rejects.toThrow(message);
  });
});

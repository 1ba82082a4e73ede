import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readServiceSettings, type RunFile } from '@ui-rl/settings';
import { nameModelFolders } from './model-name';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-names-'));
  for (const name of ['lab', 'a b', 'x,y']) mkdirSync(join(folder, name));
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = (name: string, teacher?: string) =>
  ({ model: { name, prompt: 'compact' }, teacher: { name: teacher } }) as unknown as RunFile;

/** The run's model and the models that the service's environment names. */
function named(name: string, known: Record<string, string> = {}) {
  const { run: changed, env } = nameModelFolders(run(name), known);
  return { model: changed.model, models: readServiceSettings('learner', env).models };
}

it('gives a folder a name, which services receive', () => {
  const { model, models } = named(join(folder, 'lab'), { other: '/other' });
  expect(model).toEqual({ name: 'lab', prompt: 'compact' });
  expect(models).toMatchObject({ lab: join(folder, 'lab'), other: '/other' });
  expect(named(join(folder, 'a b')).model.name).toBe('a_b');
});

it('takes no name that means another folder', () => {
  const { model, models } = named(join(folder, 'lab'), { lab: '/other' });
  expect(model.name).toBe('lab-2');
  expect(models).toMatchObject({ lab: '/other', 'lab-2': join(folder, 'lab') });
  expect(named(join(folder, 'lab'), { lab: join(folder, 'lab') }).model.name).toBe('lab');
});

it('names the folder of a teacher, too', () => {
  mkdirSync(join(folder, 'teachers/lab'), { recursive: true });
  const given = run(join(folder, 'lab'), join(folder, 'teachers/lab'));
  const { run: changed, env } = nameModelFolders(given, {});
  expect([changed.model.name, changed.teacher.name]).toEqual(['lab', 'lab-2']);
  expect(readServiceSettings('learner', env).models).toMatchObject({
    lab: join(folder, 'lab'),
    'lab-2': join(folder, 'teachers/lab'),
  });
  expect(() => nameModelFolders(run('small', join(folder, 'none')), {})).toThrow(
    /teacher\.name is .*none, but there is no such folder/,
  );
});

it('leaves names as they are', () => {
  const given = run('org/name@main');
  expect(nameModelFolders(given, { lab: '/lab' })).toEqual({ run: given, env: {} });
});

it('says what is wrong with a folder', () => {
  expect(() => named(join(folder, 'none'))).toThrow(/model\.name is .*none, but there is no such folder/);
  expect(() => named(join(folder, 'x,y'))).toThrow(/has a comma in its path/);
});

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TryFailure } from './failure';
import { refuseUsedFolder, unusedFolder } from './write-task';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'tasks-'))));
afterEach(() => rmSync(folder, { recursive: true }));

it('names the next free folder for a task that was shown before', () => {
  expect(unusedFolder(folder, 'buy')).toBe(join(folder, 'buy'));
  mkdirSync(join(folder, 'buy'));
  expect(unusedFolder(folder, 'buy')).toBe(join(folder, 'buy'));
  writeFileSync(join(folder, 'buy', 'tasks.yaml'), '');
  mkdirSync(join(folder, 'buy-2'));
  writeFileSync(join(folder, 'buy-2', 'mine.txt'), '');
  expect(unusedFolder(folder, 'buy')).toBe(join(folder, 'buy-3'));
});

it('refuses a folder that was named and holds a task', () => {
  refuseUsedFolder(join(folder, 'none'));
  writeFileSync(join(folder, 'notes.txt'), '');
  refuseUsedFolder(folder);
  writeFileSync(join(folder, 'run.yaml'), '');
  expect(() => refuseUsedFolder(folder)).toThrow(TryFailure);
  expect(() => refuseUsedFolder(folder)).toThrow(/run\.yaml exists: name another folder with --out/);
});

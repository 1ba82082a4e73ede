import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { namedOnlyBy } from './checkpoint';

const run = mkdtempSync(join(tmpdir(), 'tinker-checkpoint-'));
afterAll(() => rmSync(run, { recursive: true, force: true }));

function folder(name: string, text?: string): string {
  mkdirSync(join(run, name));
  if (text !== undefined) writeFileSync(join(run, name, 'tinker.json'), text);
  return join(run, name);
}

it('names weights that no other checkpoint needs, not even a damaged one', async () => {
  const state = (path: string) => `{"state_path": "tinker://a/weights/${path}"`;
  const sampler = (path: string) => `"sampler_path": "tinker://a/sampler_weights/${path}"}`;
  // A step without a learning signal keeps the weights of the previous one.
  const [first, second, third] = [
    folder('000001', `${state('1')}, ${sampler('1')}`),
    folder('000002', `${state('1')}, ${sampler('2')}`),
    folder('000003', `${state('3')}, ${sampler('3')}`),
  ];
  folder('000004.damaged', `${state('3')}, "sampler_p`);
  folder('000005.7.writing');
  writeFileSync(join(run, 'notes.txt'), '');
  expect(await namedOnlyBy(first)).toEqual(['tinker://a/sampler_weights/1']);
  expect(await namedOnlyBy(second)).toEqual(['tinker://a/sampler_weights/2']);
  expect(await namedOnlyBy(third)).toEqual(['tinker://a/sampler_weights/3']);
  expect(await namedOnlyBy(join(run, '000005.7.writing'))).toEqual([]);
  await expect(namedOnlyBy(join(run, 'nowhere', '000001'))).rejects.toThrow('ENOENT');
});

it('compares a critic with those of other checkpoints, where a step has not changed it', async () => {
  const of = (model: string, step: number) => `{"state_path": "tinker://${model}/weights/${step}"}`;
  for (const [index, step] of [1, 1, 2].entries()) {
    folder(`1${index}`, of('policy', index));
    folder(join(`1${index}`, 'critic'), of('critic', step));
  }
  expect(await namedOnlyBy(join(run, '10', 'critic'))).toEqual([]);
  expect(await namedOnlyBy(join(run, '12', 'critic'))).toEqual(['tinker://critic/weights/2']);
  expect(await namedOnlyBy(join(run, '11'))).toEqual(['tinker://policy/weights/1']);
  rmSync(join(run, '11'), { recursive: true });
  expect(await namedOnlyBy(join(run, '10', 'critic'))).toEqual(['tinker://critic/weights/1']);
});

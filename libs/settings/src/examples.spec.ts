import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { loadRunFile } from './index';

const folder = resolve(__dirname, '../../../deploy/config');

describe('the example run files', () => {
  it.each(readdirSync(folder).filter((name) => name.endsWith('.yaml')))('%s is valid', async (name) => {
    const { run } = await loadRunFile({ file: join(folder, name) });
    expect(run.tasks.length).toBeGreaterThan(0);
  });
});

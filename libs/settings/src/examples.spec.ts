import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { loadRunFile } from './index';

const deploy = resolve(__dirname, '../../../deploy');
const examples = readdirSync(join(deploy, 'config')).filter((name) => name.endsWith('.yaml'));

describe('the example run files', () => {
  it.each([
    ...examples.map((name) => join('config', name)),
    ...['kubernetes/run/run.yaml', 'gcp/gbox/run.yaml'],
  ])('%s is valid', async (name) => {
    const { run } = await loadRunFile({ file: join(deploy, name) });
    expect(run.tasks.length).toBeGreaterThan(0);
  });
});

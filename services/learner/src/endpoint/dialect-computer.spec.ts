import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadComponents } from '@ui-rl/plugin-kit';
import { DialectComputer } from './dialect-computer';

const SIZE = { width: 10, height: 10 };

let folder: string;
let computer: DialectComputer | undefined;

beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'dialect-'))));
afterEach(async () => {
  await computer?.close();
  await rm(folder, { recursive: true });
});

it('makes an action format from outside once more where it could not be started', async () => {
  const [file, needed] = [join(folder, 'shout.js'), join(folder, 'words.json')];
  await writeFile(
    file,
    `const create = () => {
      const { word } = JSON.parse(require('node:fs').readFileSync(${JSON.stringify(needed)}, 'utf8'));
      return {
        describe: () => word,
        format: () => word,
        parse: () => ({ ok: true, actions: [{ action: 'finish', success: true }] }),
      };
    };
    exports.default = { kind: 'action-dialect', name: 'shout', create };`,
  );
  computer = new DialectComputer({
    components: await loadComponents({ packages: [file] }),
    ...{ dialect: { name: 'shout' }, promptStyle: 'full' },
    imageProcessor: { shownSize: (size) => size },
    log: () => undefined,
  });
  await expect(computer.read('DONE', SIZE)).rejects.toThrow(/words\.json/);
  await writeFile(needed, '{"word": "DONE"}');
  await expect(computer.read('DONE', SIZE)).resolves.toMatchObject({ ok: true });
});

import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadPromptFolder, type PromptFolder } from '@ui-rl/models';
import { loadComponents, type EngineContext } from '@ui-rl/plugin-kit';
import { Misconfigured } from '@ui-rl/service';
import type { StartOptions } from './start-options';
import { assertSameTokens, startTeacher } from './teacher';

const ROOT = join(__dirname, '../../../..');

async function folder(path: string): Promise<PromptFolder> {
  return loadPromptFolder(join(ROOT, path));
}

test('a teacher has to have the tokens of the policy', async () => {
  const policy = await folder('test/golden/fixtures/qwen3-vl-a/model');
  expect(() => assertSameTokens(policy, policy, 'same')).not.toThrow();
  const other = await folder('deploy/local/model');
  expect(() => assertSameTokens(policy, other, 'other')).toThrow(Misconfigured);
  expect(() => assertSameTokens(policy, other, 'other')).toThrow(
    /^teacher other cannot score the tokens of the policy: token \d+ is ".*" for the policy and .* for the teacher$/,
  );
});

test('a teacher has to see an image in as many tokens', async () => {
  const policy = await folder('test/golden/fixtures/qwen3-vl-a/model');
  const { imageProcessor } = await folder('deploy/local/model');
  expect(() => assertSameTokens(policy, { ...policy, imageProcessor }, 'coarse')).toThrow(
    /a screen of \d+×\d+ is \d+ tokens for the policy and \d+ for the teacher$/,
  );
});

describe('a teacher is', () => {
  const MODEL = join(ROOT, 'test/golden/fixtures/qwen3-vl-a/model');
  const ADAPTER = join(ROOT, 'test/golden/fixtures/qwen3-vl-a/adapter');
  const address = (digit: string) => `uirl://folder/${digit.repeat(64)}/teacher`;
  const [TO_ADAPTER, TO_MODEL] = [address('a'), address('b')];
  const FOLDERS: Readonly<Record<string, string>> = { [TO_ADAPTER]: ADAPTER, [TO_MODEL]: MODEL };
  const LOCAL = { name: 'local', device: 'cpu', threads: 1 };

  async function start(teacher: { name?: string; load_checkpoint?: string; engine?: { name: string } }) {
    const options = { model: { name: 'fixture' }, teacher, engine: LOCAL };
    const machine = {
      models: { fixture: MODEL },
      hub: { offline: true },
      runsDir: tmpdir(),
      cacheDir: tmpdir(),
    };
    const components = await loadComponents();
    const context: EngineContext = {
      ...{ modelDir: '', cacheDir: tmpdir(), models: [], maxRows: 1, maxSequence: 64, deterministic: true },
      ...{ seed: 1, endTokenIds: [], componentFiles: [], environment: {} },
      fetchImage: () => Promise.resolve(null),
      log: () => undefined,
      onProgress: () => undefined,
    };
    // A run file of services has the addresses of uploaded folders.
    const bus = { files: { fetch: (address: string) => Promise.resolve(FOLDERS[address]) } };
    return startTeacher({ options, machine, components, bus } as unknown as StartOptions, {
      folder: await loadPromptFolder(MODEL),
      context,
    });
  }

  /** Log-probabilities of some tokens under a teacher. */
  async function scores(...of: Parameters<typeof start>): Promise<number[]> {
    const engine = (await start(...of))!;
    const chunks = [{ type: 'text' as const, tokens: [5, 6, 7] }];
    const data = [{ modelInput: { chunks }, targetTokens: [6, 7, 8], weights: [1, 1, 1] }];
    const { logprobs } = await engine.forward({ model: 'policy', data });
    await engine.stop();
    return Array.from(logprobs[0]);
  }

  test('a model, an adapter over the policy’s model, or a folder with a whole model', async () => {
    const [named, adapter, whole] = [
      await scores({ name: 'fixture' }),
      await scores({ load_checkpoint: TO_ADAPTER }),
      await scores({ load_checkpoint: TO_MODEL }),
    ];
    expect(whole).toEqual(named);
    expect(Math.max(...adapter.map((score, token) => Math.abs(score - named[token])))).toBeGreaterThan(1e-3);
  });

  test('not there unless the run names one', async () => {
    expect(await start({})).toBeUndefined();
  });

  test('refused where a name would have no effect, and by an engine that cannot run it', async () => {
    await expect(start({ name: 'fixture', load_checkpoint: TO_MODEL })).rejects.toThrow(
      /teacher\.load_checkpoint .* is a whole model: leave out teacher\.name, which is fixture/,
    );
    const refused = start({ name: 'fixture', engine: { name: 'tinker' } });
    await expect(refused).rejects.toThrow('engine tinker cannot run the teacher');
    await expect(refused).rejects.toMatchObject({
      name: 'Misconfigured',
      cause: { message: expect.stringContaining('base_url names no service') },
    });
  });
});

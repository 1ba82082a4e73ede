import { join } from 'node:path';
import { loadPromptFolder, type PromptFolder } from '@ui-rl/models';
import { Misconfigured } from '@ui-rl/service';
import { assertSameTokens } from './teacher';

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

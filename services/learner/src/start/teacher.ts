import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { weightsOf } from '@ui-rl/engine';
import { ADAPTER_CONFIG, loadPromptFolder, type PromptFolder } from '@ui-rl/models';
import type { Engine, EngineContext } from '@ui-rl/plugin-kit';
import { Misconfigured } from '@ui-rl/service';
import { POLICY } from '../checkpoints/run-models';
import { fetchModel, locate } from './locate';
import type { StartOptions } from './start-options';

/**
 * Starts an engine with the run's teacher; undefined if the run has none. It is a second engine of the same kind,
 * because the teacher may be another model than the policy.
 * @param policy folder and engine context of the policy
 */
export async function startTeacher(
  start: StartOptions,
  policy: { folder: PromptFolder; context: EngineContext },
): Promise<Engine | undefined> {
  const { options, components } = start;
  const { load_checkpoint: checkpoint, name } = options.teacher;
  if (checkpoint === undefined && name === undefined) return undefined;
  const weightsDir = checkpoint === undefined ? undefined : await locate(start, checkpoint);
  const isAdapter = weightsDir !== undefined && existsSync(join(weightsDir, ADAPTER_CONFIG));
  const isWhole = weightsDir !== undefined && !isAdapter;
  if (isWhole && name !== undefined) {
    throw new Misconfigured(
      `teacher.load_checkpoint ${checkpoint} is a whole model: leave out teacher.name, which is ${name}`,
    );
  }
  const { dir: modelDir } = isWhole
    ? { dir: weightsDir }
    : await fetchModel(start, name ?? options.model.name);
  const folder = await loadPromptFolder(modelDir);
  assertSameTokens(policy.folder, folder, checkpoint ?? name!);
  const trainable = await weightsOf(folder.family, isAdapter ? weightsDir : undefined);
  const { context } = policy;
  return components
    .create('engine', options.engine, {
      ...context,
      modelDir,
      models: [{ name: POLICY, role: 'policy', trainable }],
      onProgress: (line) => context.onProgress(`teacher: ${line}`),
    })
    .catch((cause: unknown) => {
      throw new Misconfigured(`engine ${options.engine.name} cannot run the teacher`, { cause });
    });
}

/** Screens whose numbers of image tokens are compared. */
const SIZES = [
  { width: 160, height: 208 },
  { width: 390, height: 844 },
  { width: 1440, height: 900 },
];

/**
 * A teacher scores the policy's own tokens, so each must mean the same to both.
 * @throws Misconfigured with the first difference
 */
export function assertSameTokens(policy: PromptFolder, teacher: PromptFolder, name: string): void {
  const refuse = (difference: string): never => {
    throw new Misconfigured(`teacher ${name} cannot score the tokens of the policy: ${difference}`);
  };
  const { vocabSize, imageTokenId } = policy.family.shape;
  const { shape } = teacher.family;
  for (let id = 0; id < vocabSize; id++) {
    const [own, other] = [policy, teacher].map(({ tokenizer }) => tokenizer.tokenOf(id));
    if (own === undefined || own === other) continue;
    refuse(
      `token ${id} is ${JSON.stringify(own)} for the policy and ${JSON.stringify(other)} for the teacher`,
    );
  }
  if (shape.imageTokenId !== imageTokenId) {
    refuse(`an image is token ${imageTokenId} for the policy and ${shape.imageTokenId} for the teacher`);
  }
  for (const size of SIZES) {
    const [own, other] = [policy, teacher].map(({ family, imageProcessor }) =>
      family.imageTokens(imageProcessor.preparation.geometryOf(size)),
    );
    if (own === other) continue;
    refuse(
      `a screen of ${size.width}×${size.height} is ${own} tokens for the policy and ${other} for the teacher`,
    );
  }
}

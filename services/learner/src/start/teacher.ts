import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ADAPTER_CONFIG, loadAdapter, loadPromptFolder, type PromptFolder } from '@ui-rl/models';
import type { Engine, EngineContext, TrainedModel } from '@ui-rl/plugin-kit';
import { Misconfigured } from '@ui-rl/service';
import { POLICY } from '../checkpoints/run-models';
import { findModel } from '../model-source';
import { logger } from './log';
import { locate } from './locate';
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
  const { options, machine, components } = start;
  const { load_checkpoint: checkpoint, name = options.model.name } = options.teacher;
  if (checkpoint === undefined && options.teacher.name === undefined) return undefined;
  const weights = checkpoint === undefined ? undefined : await locate(start, checkpoint);
  const isWhole = weights !== undefined && !(await isThere(join(weights, ADAPTER_CONFIG)));
  const modelDir = isWhole
    ? weights
    : (
        await findModel(name, undefined, {
          ...machine.hub,
          models: machine.models,
          folders: false,
          onProgress: (line) => logger.log(line),
        })
      ).dir;
  const folder = await loadPromptFolder(modelDir);
  assertSameTokens(policy.folder, folder, name);
  const trainable = weights === undefined || isWhole ? FROZEN : await adapterOf(weights, folder);
  const { context } = policy;
  return components.create('engine', options.engine, {
    ...context,
    modelDir,
    modelName: name,
    models: [{ name: POLICY, role: 'policy', trainable }],
    onProgress: (line) => context.onProgress(`teacher: ${line}`),
  });
}

const FROZEN: TrainedModel['trainable'] = { mode: 'frozen' };

async function adapterOf(adapterDir: string, { family }: PromptFolder): Promise<TrainedModel['trainable']> {
  const { plan } = await loadAdapter(adapterDir, family);
  const { vision = false, rslora = false, ...config } = plan.config;
  return { mode: 'lora', lora: { ...config, vision, rslora }, adapterDir };
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

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { weightsOf } from '@ui-rl/engine';
import { ADAPTER_CONFIG, loadPromptFolder, type PromptFolder } from '@ui-rl/models';
import type { ComponentChoice, Engine, EngineContext, TrainedModel } from '@ui-rl/plugin-kit';
import { Misconfigured } from '@ui-rl/service';
import type { RunFile } from '@ui-rl/settings';
import { POLICY } from '../checkpoints/run-models';
import { checkScoring, withProbe } from './check-scoring';
import { environmentOf } from './environment-of';
import { fetchModel, locate } from './locate';
import type { StartOptions } from './start-options';

/**
 * Starts an engine with the run's teacher; undefined if the run has none. By default it is a second engine of the same
 * kind, because the teacher may be another model than the policy.
 * @param policy folder and engine context of the policy
 */
export async function startTeacher(
  start: StartOptions,
  policy: { folder: PromptFolder; context: EngineContext },
): Promise<Engine | undefined> {
  const { options, components } = start;
  const { load_checkpoint: checkpoint, name } = options.teacher;
  if (checkpoint === undefined && name === undefined) return undefined;
  const choice = options.teacher.engine ?? options.engine;
  const isRemote = components.get('engine', choice.name).remote === true;
  const weightsDir = checkpoint === undefined ? undefined : await locate(start, checkpoint);
  const isAdapter = weightsDir !== undefined && existsSync(join(weightsDir, ADAPTER_CONFIG));
  const isWhole = weightsDir !== undefined && !isAdapter && !isRemote;
  if (isWhole && name !== undefined) {
    throw new Misconfigured(
      `teacher.load_checkpoint ${checkpoint} is a whole model: leave out teacher.name, which is ${name}`,
    );
  }
  const modelName = name ?? options.model.name;
  const { dir: modelDir } = isWhole
    ? { dir: weightsDir }
    : await fetchModel(start, modelName, { engine: choice });
  const folder = await loadPromptFolder(modelDir);
  assertSameTokens(policy.folder, folder, checkpoint ?? modelName);
  const trainable: TrainedModel['trainable'] = isRemote
    ? { mode: 'frozen' }
    : await weightsOf(folder.family, isAdapter ? weightsDir : undefined);
  const { context } = policy;
  const engine = await components
    .create('engine', choice, {
      ...context,
      modelDir,
      modelName,
      models: [{ name: POLICY, role: 'policy', trainable }],
      device: options.teacher.engine === undefined ? context.device : undefined,
      environment: environmentOf(components, choice),
      fetchImage: withProbe((sha256) => context.fetchImage(sha256)),
      log: (level, message) => context.log(level, `teacher: ${message}`),
      onProgress: (line) => context.onProgress(`teacher: ${line}`),
    })
    .catch((cause: unknown) => refuse(choice, cause));
  if (!isRemote) return engine;
  try {
    if (weightsDir !== undefined) {
      await engine.loadState({ model: POLICY, dir: weightsDir, optimizer: false });
    }
    await checkScoring(engine, policy.folder, readsScreens(options));
    return engine;
  } catch (error) {
    await engine.stop();
    return refuse(choice, error);
  }
}

/** A service that does not answer may do so later; other errors need another run file. */
function refuse({ name }: ComponentChoice, cause: unknown): never {
  const message = `engine ${name} cannot run the teacher`;
  const isPassing = (cause as { category?: unknown }).category === 'worker';
  throw isPassing ? new Error(message, { cause }) : new Misconfigured(message, { cause });
}

/** Pages can be read as text. */
function readsScreens({ environment: { kind } }: RunFile): boolean {
  return kind.observation !== 'text';
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

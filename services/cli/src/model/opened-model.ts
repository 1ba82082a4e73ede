import { Engine, shareReporter, type EngineOptions, type Trainable } from '@ui-rl/engine';
import {
  loadAdapter,
  loadModelFolder,
  makeRenderer,
  type ModelFolder,
  type ProcessedImage,
  type Renderer,
} from '@ui-rl/models';
import { deviceFor, printProgress, type EngineFlags } from './engine-flags';
import { readConversation, type Conversation } from './conversation-file';

/** A model, a conversation for it, and what both need to meet. */
export interface OpenedModel {
  folder: ModelFolder;
  renderer: Renderer;
  messages: Conversation['messages'];
  images: ProcessedImage[];
}

/** Reads a model folder and the conversation of a file, its images as the model takes them. */
export async function openModel(
  modelDir: string,
  input: string,
  { dtype }: Pick<EngineFlags, 'dtype'>,
): Promise<OpenedModel> {
  const onProgress = shareReporter(printProgress, 'a copy of the weights in another type is made');
  const folder = await loadModelFolder(modelDir, { weights: dtype, onProgress });
  const conversation = await readConversation(input);
  const { messages } = conversation;
  const images: ProcessedImage[] = [];
  for (const [index, image] of conversation.images.entries()) {
    images.push(
      await folder.imageProcessor.process(image).catch((cause: unknown) => {
        throw new Error(
          `${input}: image ${index}: ${cause instanceof Error ? cause.message : String(cause)}`,
          {
            cause,
          },
        );
      }),
    );
  }
  const renderer = makeRenderer(folder, { historyTurns: Math.max(1, messages.length) });
  return { folder, renderer, messages, images };
}

/** An engine that samples and scores sequences of up to so many tokens, and trains nothing. */
export async function startFrozen(
  folder: ModelFolder,
  adapterDir: string | undefined,
  maxSequence: number,
  { device, dtype, quantization }: EngineFlags,
): Promise<Engine> {
  const options: EngineOptions = {
    modelDir: folder.dir,
    device: await deviceFor(device),
    weights: dtype,
    quantization,
    trainable: await weightsOf(folder, adapterDir),
    maxRows: 1,
    maxSequence,
    seed: 0,
  };
  return Engine.start(options, printProgress);
}

async function weightsOf(folder: ModelFolder, adapterDir: string | undefined): Promise<Trainable> {
  if (adapterDir === undefined) return { mode: 'frozen' };
  const { plan } = await loadAdapter(adapterDir, folder.family);
  return { mode: 'lora', lora: plan.config, adapterDir };
}

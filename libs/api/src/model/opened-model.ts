import { resolve } from 'node:path';
import { Engine, shareReporter, type EngineOptions, type Trainable } from '@ui-rl/engine';
import {
  loadAdapter,
  loadModelFolder,
  makeRenderer,
  type ModelFolder,
  type ProcessedImage,
  type Renderer,
} from '@ui-rl/models';
import type { OnEnd } from '../local/cleanup';
import { readConversation, type Conversation } from './conversation-file';
import { deviceFor, type EngineChoice } from './engine-choice';
import { chooseModel, type ModelChoice } from './model-choice';

/** A model and the conversation it is asked about. */
export interface ModelQuestion extends ModelChoice, EngineChoice {
  /** File with the conversation, see `readConversation`. */
  input: string;
}

/** What accompanies a question until it is answered. */
export interface QuestionScope {
  signal: AbortSignal;
  /** Takes the end of the engine. */
  onEnd: OnEnd;
  onProgress: (line: string) => void;
}

/** A model, a conversation for it, and what both need to meet. */
export interface OpenedModel {
  folder: ModelFolder;
  /** Of an adapter over it. */
  adapterDir?: string;
  renderer: Renderer;
  messages: Conversation['messages'];
  images: ProcessedImage[];
}

/** Reads a model folder and the conversation of a file, its images as the model takes them. */
export async function openModel(
  { input, dtype, ...choice }: ModelQuestion,
  { signal, onProgress }: QuestionScope,
): Promise<OpenedModel> {
  const { modelDir, adapterDir } = await chooseModel(choice, { signal, onProgress });
  const onCopy = shareReporter(onProgress, 'a copy of the weights in another type is made');
  const folder = await loadModelFolder(modelDir, { weights: dtype, onProgress: onCopy });
  const conversation = await readConversation(resolve(input));
  const { messages } = conversation;
  const images: ProcessedImage[] = [];
  for (const [index, image] of conversation.images.entries()) {
    images.push(
      await folder.imageProcessor.process(image).catch((cause: unknown) => {
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new Error(`${resolve(input)}: image ${index}: ${reason}`, { cause });
      }),
    );
  }
  const renderer = makeRenderer(folder, { historyTurns: Math.max(1, messages.length) });
  return { folder, adapterDir, renderer, messages, images };
}

/** An engine that samples and scores sequences of up to so many tokens, and trains nothing. */
export async function startFrozen(
  { folder, adapterDir }: Pick<OpenedModel, 'folder' | 'adapterDir'>,
  maxSequence: number,
  { device, dtype, quantization }: EngineChoice,
  { onEnd, onProgress }: QuestionScope,
): Promise<Engine> {
  const options: EngineOptions = {
    modelDir: folder.dir,
    device: await deviceFor(device, onProgress),
    weights: dtype,
    quantization,
    trainable: await weightsOf(folder, adapterDir),
    maxRows: 1,
    maxSequence,
    seed: 0,
  };
  const engine = await Engine.start(options, onProgress);
  onEnd(() => engine.stop());
  return engine;
}

async function weightsOf(folder: ModelFolder, adapterDir: string | undefined): Promise<Trainable> {
  if (adapterDir === undefined) return { mode: 'frozen' };
  const { plan } = await loadAdapter(adapterDir, folder.family);
  return { mode: 'lora', lora: plan.config, adapterDir };
}

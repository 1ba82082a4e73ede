import { resolve } from 'node:path';
import {
  aborted,
  readConversation,
  VisionLanguageModel,
  withCleanup,
  type Conversation,
  type EngineChoice,
  type ModelChoice,
} from '@ui-rl/api';
import { printProgress } from './engine-flags';

/** A command's question, and its model. */
export interface ModelQuestion extends ModelChoice, EngineChoice {
  /** File with the conversation, see `readConversation`. */
  input: string;
}

/**
 * Loads a model, asks one question about the conversation in a file, and writes the answer. Resolves to the exit
 * code.
 */
export function askModel<T>(
  { input, model, ...options }: ModelQuestion,
  ask: (model: VisionLanguageModel, conversation: Conversation) => Promise<T>,
  write: (answer: T) => Promise<void>,
): Promise<number> {
  return withCleanup(async (signal, onEnd) => {
    const answer = async (): Promise<T> => {
      const conversation = await readConversation(resolve(input));
      // Capacity for this one question.
      const room = { rows: 1, maxSequence: 1 };
      const loaded = await VisionLanguageModel.load(model, {
        ...options,
        ...room,
        signal,
        onProgress: printProgress,
      });
      onEnd(() => loaded.stop());
      return ask(loaded, conversation);
    };
    await write(await Promise.race([answer(), aborted(signal)]));
    return 0;
  });
}

import { resolve } from 'node:path';
import { Command } from 'commander';
import { nonNegativeNumber, positiveInteger, shareOfOne, wholeNumber } from '../flags';
import { aborted, withCleanup } from '../local/cleanup';
import { addEngineFlags, type EngineFlags } from '../model/engine-flags';
import { MODEL_HELP, modelFolder } from '../model/model-folder';
import { openModel, startFrozen } from '../model/opened-model';
import { writeResult } from '../model/result-file';

interface GenerateFlags extends EngineFlags {
  model: string;
  adapter?: string;
  input: string;
  json?: string;
  maxTokens: number;
  temperature: number;
  topP: number;
  seed: number;
}

/** An answer as it was sampled. */
export interface Answer {
  /** End-of-turn token included, where there is one. */
  token_ids: number[];
  /** Under softmax(logits / temperature), at temperature 1 for greedy decoding. */
  logprobs: number[];
  text: string;
  finish_reason: 'stop' | 'length';
  prompt_token_ids: number[];
}

export function generateCommand(): Command {
  const command = new Command('generate')
    .description('the answer of a model to a conversation')
    .requiredOption('--model <model>', MODEL_HELP)
    .option('--adapter <dir>', 'LoRA adapter in PEFT format')
    .requiredOption(
      '--input <file>',
      'JSON: {"messages":[{"role","content":[{"type":"text","text"} or {"type":"image","path"}]}]}',
    )
    .option('--max-tokens <n>', 'tokens of the answer at most', positiveInteger, 256)
    .option('--temperature <x>', '0 always takes the likeliest token', nonNegativeNumber, 0)
    .option('--top-p <x>', 'sample from the likeliest tokens with this share of probability', shareOfOne, 1)
    .option('--seed <n>', 'seeds the sampler', wholeNumber, 0)
    .option('--json <file>', 'write the result there (default: to standard output)');
  return addEngineFlags(command).action(async (flags: GenerateFlags) => {
    process.exitCode = await withCleanup(async (signal, onEnd) => {
      const answer = await Promise.race([generate(flags, signal, onEnd), aborted(signal)]);
      await writeResult(flags.json, answer, answer.text);
      return 0;
    });
  });
}

async function generate(
  flags: GenerateFlags,
  signal: AbortSignal,
  onEnd: (cleanup: () => Promise<void>) => void,
): Promise<Answer> {
  const { model, adapter, input, maxTokens, temperature, topP, seed } = flags;
  const { folder, renderer, messages, images } = await openModel(
    await modelFolder(model, { signal }),
    resolve(input),
    flags,
  );
  if (messages.at(-1)?.role === 'assistant') {
    throw new Error(`${input}: the last message is the assistant's; expected one that is to be answered`);
  }
  const prompt = renderer.render(messages, images);
  const adapterDir = adapter === undefined ? undefined : resolve(adapter);
  const engine = await startFrozen(folder, adapterDir, prompt.tokenIds.length + maxTokens, flags);
  onEnd(() => engine.stop());
  const { tokenIds, logprobs, finishReason } = await engine.generate({
    prompt,
    maxTokens,
    temperature,
    topP,
    seed,
  });
  return {
    token_ids: tokenIds,
    logprobs,
    text: folder.tokenizer.decode(tokenIds, { skipSpecialTokens: true }),
    finish_reason: finishReason,
    prompt_token_ids: prompt.tokenIds,
  };
}

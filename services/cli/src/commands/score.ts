import { resolve } from 'node:path';
import { Command } from 'commander';
import { aborted, withCleanup } from '../local/cleanup';
import { addEngineFlags, type EngineFlags } from '../model/engine-flags';
import { MODEL_HELP, modelFolder } from '../model/model-folder';
import { openModel, startFrozen } from '../model/opened-model';
import { writeResult } from '../model/result-file';

interface ScoreFlags extends EngineFlags {
  model: string;
  adapter?: string;
  input: string;
  json?: string;
}

/** What a model says of a conversation, token by token. */
export interface Scores {
  token_ids: number[];
  /** 1 for the tokens of assistant messages, end-of-turn token included. */
  assistant_mask: number[];
  /** Log-probability of each token given all before it; null for the first. */
  logprobs: (number | null)[];
  /** Tokens of each image, in order. */
  image_tokens: number[];
}

export function scoreCommand(): Command {
  const command = new Command('score')
    .description('log-probabilities of a conversation, token by token, as they are trained')
    .requiredOption('--model <model>', MODEL_HELP)
    .option('--adapter <dir>', 'LoRA adapter in PEFT format')
    .requiredOption(
      '--input <file>',
      'JSON: {"messages":[{"role","content":[{"type":"text","text"} or {"type":"image","path"}]}]}',
    )
    .option('--json <file>', 'write the result there (default: to standard output)');
  return addEngineFlags(command).action(async (flags: ScoreFlags) => {
    process.exitCode = await withCleanup(async (signal, onEnd) => {
      const scores = await Promise.race([score(flags, signal, onEnd), aborted(signal)]);
      const trained = scores.logprobs.filter((_, place) => scores.assistant_mask[place] === 1);
      const sum = trained.reduce<number>((total, each) => total + (each ?? 0), 0);
      await writeResult(
        flags.json,
        scores,
        `${scores.token_ids.length} tokens, ${trained.length} of them in answers with log-probability ${sum.toFixed(4)}`,
      );
      return 0;
    });
  });
}

async function score(
  flags: ScoreFlags,
  signal: AbortSignal,
  onEnd: (cleanup: () => Promise<void>) => void,
): Promise<Scores> {
  const { model, adapter, input } = flags;
  const { folder, renderer, messages, images } = await openModel(
    await modelFolder(model, { signal }),
    resolve(input),
    flags,
  );
  const { tokenIds, assistantMask, images: shown } = renderer.renderConversation(messages, images);
  const adapterDir = adapter === undefined ? undefined : resolve(adapter);
  const engine = await startFrozen(folder, adapterDir, tokenIds.length, flags);
  onEnd(() => engine.stop());
  const mask = new Uint8Array(tokenIds.length).fill(1, 1);
  const [logprobs] = await engine.logprobs([{ tokenIds, images: shown, mask, advantages: 0 }]);
  return {
    token_ids: tokenIds,
    assistant_mask: Array.from(assistantMask),
    logprobs: Array.from(logprobs, (each, place) => (place === 0 ? null : each)),
    image_tokens: shown.map(({ tokens }) => tokens),
  };
}

import { aborted, score, withCleanup, type ModelQuestion } from '@ui-rl/api';
import { Command } from 'commander';
import { addEngineFlags, addModelFlags, printProgress } from '../engine-flags';
import { writeResult } from '../result-file';

interface ScoreFlags extends ModelQuestion {
  json?: string;
}

export function scoreCommand(): Command {
  const command = addModelFlags(new Command('score'))
    .description('log-probabilities of a conversation, token by token, as they are trained')
    .requiredOption(
      '--input <file>',
      'JSON: {"messages":[{"role","content":[{"type":"text","text"} or {"type":"image","path"}]}]}',
    )
    .option('--json <file>', 'write the result there (default: to standard output)');
  return addEngineFlags(command).action(async ({ json, ...question }: ScoreFlags) => {
    process.exitCode = await withCleanup(async (signal, onEnd) => {
      const scored = score(question, { signal, onEnd, onProgress: printProgress });
      const scores = await Promise.race([scored, aborted(signal)]);
      const trained = scores.logprobs.filter((_, place) => scores.assistant_mask[place] === 1);
      const sum = trained.reduce<number>((total, each) => total + (each ?? 0), 0);
      await writeResult(
        json,
        scores,
        `${scores.token_ids.length} tokens, ${trained.length} of them in answers with log-probability ${sum.toFixed(4)}`,
      );
      return 0;
    });
  });
}

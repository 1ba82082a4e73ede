import type { Scores } from '@ui-rl/api';
import { Command } from 'commander';
import { askModel, type ModelQuestion } from '../ask-model';
import { addEngineFlags, addModelFlags } from '../engine-flags';
import { writeResult } from '../result-file';

interface ScoreFlags extends ModelQuestion {
  json?: string;
}

export function scoreCommand(): Command {
  const command = addModelFlags(new Command('score'))
    .description('print the log-probability of each token of a conversation, as training computes it')
    .requiredOption(
      '--input <file>',
      'JSON: {"messages":[{"role","content":[{"type":"text","text"} or {"type":"image","path"}]}]}',
    )
    .option('--json <file>', 'output file (default: standard output)');
  return addEngineFlags(command).action(async ({ json, ...question }: ScoreFlags) => {
    const write = async (scores: Scores): Promise<void> => writeResult(json, scores, summary(scores));
    process.exitCode = await askModel(question, (model, conversation) => model.score(conversation), write);
  });
}

function summary({ token_ids: tokens, logprobs, assistant_mask: mask }: Scores): string {
  const trained = logprobs.filter((_, place) => mask[place] === 1);
  const sum = trained.reduce<number>((total, each) => total + (each ?? 0), 0);
  return `${tokens.length} tokens, ${trained.length} of them in answers with log-probability ${sum.toFixed(4)}`;
}

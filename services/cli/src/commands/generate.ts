import type { SampleOptions } from '@ui-rl/api';
import { Command } from 'commander';
import { askModel, type ModelQuestion } from '../ask-model';
import { addEngineFlags, addModelFlags } from '../engine-flags';
import { nonNegativeNumber, positiveInteger, shareOfOne, wholeNumber } from '../flags';
import { writeResult } from '../result-file';

interface GenerateFlags extends ModelQuestion, SampleOptions {
  json?: string;
}

export function generateCommand(): Command {
  const command = addModelFlags(new Command('generate'))
    .description('print the answer of a model to a conversation')
    .requiredOption(
      '--input <file>',
      'JSON: {"messages":[{"role","content":[{"type":"text","text"} or {"type":"image","path"}]}]}',
    )
    .option('--max-tokens <n>', 'maximum tokens of the answer', positiveInteger, 256)
    .option('--temperature <x>', 'sampling temperature; 0 is greedy', nonNegativeNumber, 0)
    .option('--top-p <x>', 'nucleus sampling threshold', shareOfOne, 1)
    .option('--seed <n>', 'seed of the sampler', wholeNumber, 0)
    .option('--json <file>', 'output file (default: standard output)');
  return addEngineFlags(command).action(async (flags: GenerateFlags) => {
    const { json, maxTokens, temperature, topP, seed, ...question } = flags;
    const sampling = { maxTokens, temperature, topP, seed };
    process.exitCode = await askModel(
      question,
      (model, conversation) => model.generate(conversation, sampling),
      (answer) => writeResult(json, answer, answer.text),
    );
  });
}

import {
  bytesText,
  countText,
  describeNamedModel,
  supportedFamilies,
  withCleanup,
  type ModelDescription,
  type RunSize,
  type SupportedFamily,
} from '@ui-rl/api';
import { Command } from 'commander';
import { MODEL_HELP, printProgress } from '../engine-flags';
import { positiveInteger } from '../flags';
import { randomCommand } from './models-random';

interface ModelsFlags extends RunSize {
  json?: boolean;
}

export function modelsCommand(): Command {
  return new Command('models')
    .description('list supported families, describe a model, or create random weights')
    .argument('[model]', MODEL_HELP)
    .option('--json', 'as JSON')
    .option('--rank <n>', 'rank of the adapters', positiveInteger, 32)
    .option('--rows <n>', 'sequences generated at the same time (rollout.concurrency)', positiveInteger, 8)
    .option('--sequence <n>', 'tokens of a sequence (prompt and answer)', positiveInteger, 2048)
    .action(async (model: string | undefined, { json, ...size }: ModelsFlags) => {
      process.exitCode = await withCleanup(async (signal) => {
        if (model === undefined) {
          const families = supportedFamilies();
          console.log(json === true ? JSON.stringify(families, null, 2) : familyTable(families));
          return 0;
        }
        const described = await describeNamedModel(model, size, { signal, onProgress: printProgress });
        console.log(json === true ? JSON.stringify(described, null, 2) : descriptionText(described, size));
        return 0;
      });
    })
    .addCommand(randomCommand());
}

function familyTable(rows: readonly SupportedFamily[]): string {
  const lines = rows.map(
    ({ model_type: type, family, models }) =>
      `${type.padEnd(18)} ${(family ?? '').padEnd(16)} ${models.join(', ')}`,
  );
  return [`${'model_type'.padEnd(18)} ${'family'.padEnd(16)} for example`, ...lines].join('\n');
}

function descriptionText(described: ModelDescription, { rank, rows, sequence }: RunSize): string {
  const { dir, family, model_type: type, parameters, weights, adapters, memory } = described;
  const types = Object.entries(weights?.dtypes ?? {}).map(
    ([name, count]) => `${countText(count)} as ${name}`,
  );
  const stored = weights === null ? 'not here' : `${bytesText(weights.bytes)}, ${types.join(', ')}`;
  const adapterLine = (targets: string): string => {
    const [text, both] = adapters.filter((each) => each.targets === targets);
    return `  ${targets.padEnd(15)} ${countText(text.parameters).padEnd(14)} with the vision tower ${countText(both.parameters)}`;
  };
  const line = (bytes: number, text: string): string => `  ${bytesText(bytes).padStart(8)}  ${text}`;
  return [
    ...(dir === null ? [] : [dir]),
    `${family} (${type})`,
    `parameters: ${countText(parameters.total)}, of them text ${countText(parameters.text)}, vision ${countText(parameters.vision)}`,
    `weights: ${stored}`,
    `parameters of an adapter of rank ${rank}:`,
    ...[...new Set(adapters.map(({ targets }) => targets))].map(adapterLine),
    `memory of a run with such an adapter of all linear layers, ${rows} rows of ${sequence} tokens (estimate):`,
    line(memory.mappedWeights, 'frozen weights, mapped: shared by all processes that use them'),
    line(
      memory.convertedWeights,
      'weights converted to float32, since the model is small; stored as float32 they are mapped',
    ),
    line(memory.adapter, 'adapter, its gradients and the optimizer state'),
    line(memory.mergedWeights, 'layers with the adapter merged in, for sampling'),
    line(
      memory.kvCache,
      `key/value cache (${bytesText(memory.kvCachePerThousandTokens)} per 1,000 tokens of a row)`,
    ),
    line(
      memory.activations,
      `activations of a training pass, ${memory.layerByLayer ? 'layer by layer' : 'all kept'}`,
    ),
    line(memory.sampling, 'reading prompts, sampling'),
    line(
      memory.caches,
      'what is kept to be used again, at most: prompts that others begin with, features of images',
    ),
    line(memory.process, 'the process itself'),
    line(memory.privateBytes, 'together, without the mapped weights'),
    line(memory.critic, 'more with a critic (algorithm.advantage: gae), whose adapter is of the same size'),
  ].join('\n');
}

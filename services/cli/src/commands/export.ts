import { EXPORT_DTYPES, exportCheckpoint, type Exported, type ExportOptions } from '@ui-rl/api';
import { Command, Option } from 'commander';
import { CHECKPOINT_HELP, MODEL_HELP, printProgress } from '../engine-flags';

type ExportFlags = Omit<ExportOptions, 'onProgress'>;

export function exportCommand(): Command {
  return new Command('export')
    .description('export a checkpoint as a PEFT adapter or a whole model, for transformers or vLLM')
    .requiredOption('--checkpoint <checkpoint>', `${CHECKPOINT_HELP}, or that of any PEFT adapter`)
    .requiredOption('--out <dir>', 'output folder; must be empty or not exist')
    .option(
      '--model <model>',
      `model the adapter belongs to: ${MODEL_HELP} (default: the one it was trained on)`,
    )
    .option('--merge', 'write the whole model with the adapter merged in')
    .addOption(
      new Option('--dtype <type>', 'type of the merged weights')
        .choices(Object.keys(EXPORT_DTYPES))
        .default('float32'),
    )
    .action(async (flags: ExportFlags) => {
      console.log(summary(await exportCheckpoint({ ...flags, onProgress: printProgress }), flags));
    });
}

function summary(exported: Exported, { dtype }: ExportFlags): string {
  switch (exported.kind) {
    case 'model':
      return `whole model written to ${exported.dir}`;
    case 'merged':
      return `model with the adapter merged in, ${dtype}, written to ${exported.dir}`;
    case 'adapter':
      return `PEFT adapter of ${exported.base} written to ${exported.dir}`;
  }
}

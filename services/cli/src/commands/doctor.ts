import { calibrateModel, examine, withCleanup, type EngineChoice, type Finding } from '@ui-rl/api';
import type { ComponentChoice } from '@ui-rl/plugin-kit';
import { Command, InvalidArgumentError } from 'commander';
import { addEngineFlags, printProgress } from '../engine-flags';

interface DoctorFlags extends EngineChoice {
  config?: string;
  json?: boolean;
  model?: string;
  action_format?: ComponentChoice;
  screen?: { width: number; height: number };
}

const SIGNS = { ok: 'ok', warning: 'warning', failure: 'FAILURE' } as const;

export function doctorCommand(): Command {
  const command = new Command('doctor')
    .description('check this machine, and print how to fix each problem')
    .option('--config <file>', 'run file to check for (default: a run on the demo tasks)')
    .option('--json', 'as JSON')
    .option(
      '--model <model>',
      "only whether clicks of this model land where it means them: organisation/name on the hub, a name of UIRL_MODELS, folder, uirl://<run>/sampler_weights/<step>, or endpoint of OpenAI's API (https://host/v1#model); loads its weights",
    )
    .option(
      '--action_format <name>',
      "with --model: the dialect it is asked in, or as JSON with its options (default: the run file's, else what a run of the model would take)",
      readFormat,
    )
    .option(
      '--screen <WxH>',
      'with --model: pixels of the page with targets (default: 1280x800)',
      readScreen,
    );
  return addEngineFlags(command)
    .addHelpText(
      'after',
      '\nChecks Node, memory, disk, broker, database, model and device, and opens the first task in its environment.\nExits with 1 if a check fails.',
    )
    .action(async (flags: DoctorFlags) => {
      const { config, json = false } = flags;
      process.exitCode = await withCleanup(async (signal) => {
        const found: Finding[] = [];
        const { model } = flags;
        const looked =
          model === undefined
            ? examine({ runFile: config, signal })
            : calibration({ ...flags, model }, signal);
        for await (const finding of looked) {
          found.push(finding);
          if (!json) console.log(findingText(finding));
        }
        if (json) console.log(JSON.stringify(found, null, 2));
        else console.log(`\n${conclusion(found)}`);
        return found.some(({ status }) => status === 'failure') ? 1 : 0;
      });
    });
}

/** Asks a model to click targets. */
async function* calibration(
  {
    model,
    config,
    action_format: actionFormat,
    screen,
    device,
    dtype,
    quantization,
  }: DoctorFlags & { model: string },
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  const { verdict } = await calibrateModel({
    ...{ checkpoint: model, runFile: config, actionFormat, screen, signal },
    ...{ device, dtype, quantization, onProgress: printProgress },
  });
  yield { subject: 'clicks', ...verdict };
}

function readFormat(given: string): ComponentChoice {
  if (!given.trimStart().startsWith('{')) return { name: given };
  try {
    return JSON.parse(given) as ComponentChoice;
  } catch {
    throw new InvalidArgumentError(
      'it is neither a name nor JSON such as {"name":"json","coordinates":"relative_1000"}',
    );
  }
}

function readScreen(given: string): { width: number; height: number } {
  const found = /^(\d+)x(\d+)$/.exec(given);
  if (found === null) throw new InvalidArgumentError('expected width and height in pixels, such as 1280x800');
  return { width: Number(found[1]), height: Number(found[2]) };
}

function findingText({ subject, status, found, mend }: Finding): string {
  const line = `${SIGNS[status].padEnd(8)} ${subject.padEnd(12)} ${found}`;
  return mend === undefined ? line : `${line}\n${' '.repeat(22)}→ ${mend}`;
}

function conclusion(found: readonly Finding[]): string {
  const count = (status: Finding['status']) => found.filter((each) => each.status === status).length;
  const [failures, warnings] = [count('failure'), count('warning')];
  if (failures > 0) return `${failures} would fail, ${warnings} to look at`;
  return warnings > 0 ? `nothing would fail, ${warnings} to look at` : 'everything is there';
}

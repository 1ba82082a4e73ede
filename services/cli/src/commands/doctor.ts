import { examine, withCleanup, type Finding } from '@ui-rl/api';
import { Command } from 'commander';

interface DoctorFlags {
  config?: string;
  json?: boolean;
}

const SIGNS = { ok: 'ok', warning: 'warning', failure: 'FAILURE' } as const;

export function doctorCommand(): Command {
  return new Command('doctor')
    .description('say what is there on this machine, what would fail, and what mends it')
    .option('--config <file>', 'the run file to be run (default: a run on the demo tasks)')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      '\nLooks at Node, memory, disk, broker, database, model, device, and opens the first task in its environment.\nExits with 1 where something would fail.',
    )
    .action(async ({ config, json = false }: DoctorFlags) => {
      process.exitCode = await withCleanup(async (signal) => {
        const found: Finding[] = [];
        for await (const finding of examine({ runFile: config, signal })) {
          found.push(finding);
          if (!json) console.log(findingText(finding));
        }
        if (json) console.log(JSON.stringify(found, null, 2));
        else console.log(`\n${conclusion(found)}`);
        return found.some(({ status }) => status === 'failure') ? 1 : 0;
      });
    });
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

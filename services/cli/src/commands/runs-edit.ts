import { editRun, withCleanup } from '@ui-rl/api';
import type { BusService } from '@ui-rl/bus';
import { printable } from '@ui-rl/contracts';
import type { RunLabels } from '@ui-rl/records';
import { readCliSettings } from '@ui-rl/settings';
import { Command } from 'commander';
import { monitorOf, withBus } from '../with-bus';

interface EditFlags {
  name?: string;
  notes?: string;
  tags?: string;
  archive?: boolean;
  monitor?: string;
  json?: boolean;
}

export function runsEditCommand(): Command {
  return new Command('edit')
    .description("change a run's name, notes and tags, or archive it, in the records of the monitor")
    .argument('<run>', 'id of the run')
    .option('--name <text>', 'name, one line; "" removes it')
    .option('--notes <text>', 'notes; "" removes them')
    .option('--tags <list>', 'tags, separated by commas, which replace the present ones; "" removes them')
    .option('--archive', 'leave the run out of lists')
    .option('--no-archive', 'list the run again')
    .option('--monitor <url>', 'address of the monitor (default: the one of the broker)')
    .option('--json', 'as JSON')
    .action(async (runId: string, { monitor, json, ...flags }: EditFlags) => {
      const changes = changesIn(flags);
      const { token } = readCliSettings().monitor;
      if (monitor === undefined) {
        const edit = async (bus: BusService, signal: AbortSignal) =>
          editRun({ runId, token, signal, monitor: await monitorOf(bus, runId) }, changes);
        return withBus(edit, { json }, (labels) => labelsText(runId, labels));
      }
      process.exitCode = await withCleanup(async (signal) => {
        const labels = await editRun({ runId, token, signal, monitor }, changes);
        console.log(json === true ? JSON.stringify(labels, null, 2) : labelsText(runId, labels));
        return 0;
      });
    });
}

/** @throws Error without any change */
function changesIn({ name, notes, tags, archive }: EditFlags): Partial<RunLabels> {
  const changes: Partial<RunLabels> = {
    ...(name === undefined ? {} : { name }),
    ...(notes === undefined ? {} : { notes }),
    ...(tags === undefined ? {} : { tags: listIn(tags) }),
    ...(archive === undefined ? {} : { archived: archive }),
  };
  if (Object.keys(changes).length === 0)
    throw new Error('no change given: expected --name, --notes, --tags, --archive or --no-archive');
  return changes;
}

function listIn(text: string): string[] {
  return text
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');
}

function labelsText(runId: string, { name, notes, tags, archived }: RunLabels): string {
  const lines = [
    `run ${runId}${archived ? ' (archived)' : ''}`,
    ...(name === '' ? [] : [`name ${name}`]),
    ...(tags.length === 0 ? [] : [`tags ${tags.join(', ')}`]),
    ...(notes === '' ? [] : notes.split('\n')),
  ];
  return lines.map(printable).join('\n');
}

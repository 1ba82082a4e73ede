import { join, relative } from 'node:path';
import { brokerVariable } from '@ui-rl/api';
import { projectRoot, readCliSettings, type RunFile } from '@ui-rl/settings';

/** Location of a run's records, if they can be opened again. */
export interface Recorded {
  runId: string;
}

/**
 * Prints a checkpoint's address, and commands that use it from here: none if a service holds the weights.
 *
 * @param recorded a run whose services stop with it, and whose records are in its folder
 */
export function printCheckpoint(address: string | null | undefined, run: RunFile, recorded?: Recorded): void {
  console.log(`checkpoint ${address ?? 'none'}`);
  const { hasBroker, nats } = readCliSettings();
  const where = hasBroker ? `${brokerVariable(nats)} ` : '';
  if (address !== null && address !== undefined && run.engine.name === 'local')
    for (const words of usesOf(address, run)) console.log(`  ${where}npx ui-rl ${words}`);
  if (recorded !== undefined) console.log(`  npx ui-rl monitor ${recorded.runId}`);
}

function usesOf(address: string, { tasks, eval_tasks: evaluated }: RunFile): string[] {
  const source = [...evaluated, ...tasks].find((each) =>
    Object.keys(each).every((key) => key === 'source_type'),
  );
  const evaluation =
    source === undefined ? [] : [`eval --checkpoint ${address} --tasks ${source.source_type}`];
  const isDemo = tasks.some(({ source_type: type }) => type.startsWith('demo'));
  const page = isDemo ? `${phone()} --task "Turn on Bluetooth"` : 'PAGE --task "SENTENCE"';
  return [...evaluation, `try ${page} --checkpoint ${address}`];
}

/** Path of the demo tasks' page, relative to the working directory. */
function phone(): string {
  const folder = join(projectRoot, 'plugins/task-source-demo/pocket');
  const path = relative(process.cwd(), folder);
  return path.startsWith('..') ? folder : path;
}

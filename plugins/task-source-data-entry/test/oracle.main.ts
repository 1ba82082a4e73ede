import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { loadComponents, loadTasks } from '@ui-rl/plugin-kit';
import { playByOracle } from './play';

const HELP = `npm run bench:data-entry -- [options]      the oracle types a spreadsheet into a form by mouse and keyboard

  --rows N        rows of the spreadsheet, all of which are typed (100)
  --on PLACE      desktop or browser (desktop)
`;

async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ options: { rows: text, on: text, help: { type: 'boolean' } } });
  if (values.help === true) return console.log(HELP);
  const { rows = '100', on = 'desktop' } = values;
  const registry = await loadComponents();
  const count = Number(rows);
  const [task] = await loadTasks(registry, [
    { source_type: 'simple_data_entry', on, rows: count, rows_per_task: count },
  ]);
  const { success, state, actions, openMs, actionMs, closeMs } = await playByOracle(registry, task);
  const sorted = actionMs.toSorted((a, b) => a - b);
  const at = (part: number) => sorted[Math.floor(part * (sorted.length - 1))].toFixed(0);
  const seconds = actionMs.reduce((sum, ms) => sum + ms, 0) / 1_000;
  const { submitted_row_indices: submitted, num_incorrect_submissions: incorrect } = state;
  console.log(
    `${success ? 'solved' : 'NOT SOLVED'}: ${submitted.length} of ${count} rows submitted, ${incorrect} incorrect`,
  );
  console.log(`opened in ${openMs.toFixed(0)} ms, ended in ${closeMs.toFixed(0)} ms`);
  console.log(`${actions} actions in ${seconds.toFixed(1)} s: ${(actions / seconds).toFixed(1)} a second`);
  console.log(`one action with its screenshot: median ${at(0.5)} ms, 95 of 100 within ${at(0.95)} ms`);
  process.exitCode = success ? 0 : 1;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TaskSourceComponent } from '@ui-rl/plugin-kit';
import { DataEntryOptions, QuestionOptions } from './options';
import { nextAction, type Progress } from './oracle';
import { questionTasks } from './questions';
import { PAGE, tasksOf } from './tasks';

/** The page is stored beside the sources; compiled code finds it from `dist/plugins/task-source-data-entry/src`. */
function pageFolder(): string {
  for (let folder = __dirname; ; folder = dirname(folder)) {
    const candidates = [join(folder, PAGE), join(folder, 'plugins/task-source-data-entry', PAGE)];
    const found = candidates.find((candidate) => existsSync(join(candidate, 'index.html')));
    if (found !== undefined) return found;
    if (folder === dirname(folder)) throw new Error(`there is no ${PAGE}/index.html above ${__dirname}`);
  }
}

const dataEntry: TaskSourceComponent<DataEntryOptions> = {
  kind: 'task-source',
  name: 'simple_data_entry',
  description: 'Rows of a spreadsheet are typed into a form, in the browser or on a desktop.',
  options: DataEntryOptions,
  pages: { [PAGE]: pageFolder() },
  oracle: (task, state) => nextAction(task, state as Progress),
  create: (options, { log }) => ({ load: () => tasksOf(options, log) }),
};

const questions: TaskSourceComponent<QuestionOptions> = {
  kind: 'task-source',
  name: 'sheet_questions',
  description: 'Questions about the spreadsheet, which the agent answers as it finishes.',
  options: QuestionOptions,
  create: (options) => ({ load: () => questionTasks(options) }),
};

export const components = [dataEntry, questions];

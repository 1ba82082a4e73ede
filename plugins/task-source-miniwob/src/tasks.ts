import { didYouMean, PluginError, type Task } from '@ui-rl/plugin-kit';
import type { MiniwobOptions } from './options';
import { PAGES, type Page } from './pages';

/** Name of the source, its page and its script. */
export const NAME = 'miniwob';

/** Areas outside the 160 × 210 pixels of the task display reward and timer. */
const LOOKS = {
  '160x210': { viewport: { width: 160, height: 210 } },
  '332x214': { viewport: { width: 332, height: 214 }, scale: 1.5 },
};

/** Throws a `PluginError` `option` if no page is left. */
export function tasksOf(options: MiniwobOptions): Task[] {
  const { split, subsets, pages } = options;
  pages?.forEach(refuseUnknown);
  const chosen = PAGES.filter(
    (page) =>
      (split === undefined || page.split === split) &&
      (subsets?.includes(page.subset) ?? true) &&
      (pages?.includes(page.name) ?? true),
  );
  if (chosen.length === 0)
    throw new PluginError('option', 'tasks: no page of MiniWoB++ is in all of split, subsets and pages');
  return chosen.map((page) => taskOf(page, options));
}

function refuseUnknown(name: string): void {
  const names = PAGES.map((page) => page.name);
  if (names.includes(name)) return;
  const hint = didYouMean(name, names) || ' `ui-rl tasks list --source miniwob` lists them.';
  throw new PluginError('option', `tasks: no page of MiniWoB++ is named "${name}".${hint}`);
}

function taskOf({ name }: Page, options: MiniwobOptions): Task {
  const { look, query, success, data_mode, max_steps } = options;
  return {
    id: `miniwob.${name}`,
    description: `MiniWoB++ ${name}`,
    goalFrom: 'goal',
    maxSteps: max_steps,
    environment: {
      kind: 'browser',
      options: {
        ...placeOf(name, options),
        ...LOOKS[look],
        script: NAME,
        reset: { query, data_mode },
      },
    },
    checks: [{ path: success === 'strict' ? 'success' : 'positive', operator: 'equals', value: true }],
  };
}

function placeOf(name: string, { address }: MiniwobOptions): Record<string, string> {
  if (address === undefined) return { page: NAME, path: `miniwob/${name}.html` };
  return { url: new URL(`${name}.html`, address.endsWith('/') ? address : `${address}/`).href };
}

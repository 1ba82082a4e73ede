import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Doc, type Task, type TaskSourceComponent } from '@ui-rl/plugin-kit';
import { IsInt, Max, Min } from 'class-validator';
import { layTargets, MOST_TARGETS, type Target } from './targets';

const PAGE = 'targets';

export class CalibrationOptions {
  @Doc('targets on the screen, and tasks: one for each')
  @IsInt()
  @Min(1)
  @Max(MOST_TARGETS)
  targets = 12;

  @Doc('width of the screen in pixels')
  @IsInt()
  @Min(64)
  @Max(4096)
  width = 1280;

  @Doc('height of the screen in pixels')
  @IsInt()
  @Min(64)
  @Max(4096)
  height = 800;
}

const calibration: TaskSourceComponent<CalibrationOptions> = {
  kind: 'task-source',
  name: 'calibration',
  description:
    'A page with named targets, one of which is to be clicked: shows whether clicks land where a policy means them.',
  options: CalibrationOptions,
  pages: { [PAGE]: pageFolder() },
  create: ({ targets: count, width, height }) => ({ load: () => tasksOf({ count, width, height }) }),
};

function tasksOf(screen: { count: number; width: number; height: number }): Task[] {
  const targets = layTargets(screen);
  return targets.map((target) => taskOf(target, targets, screen));
}

function taskOf(
  { label }: Target,
  targets: readonly Target[],
  { width, height }: { width: number; height: number },
): Task {
  return {
    id: `calibration-${label.toLowerCase()}-${width}x${height}-${targets.length}`,
    description: `Click the button "${label}"`,
    maxSteps: 1,
    environment: {
      kind: 'browser',
      options: { page: PAGE, viewport: { width, height }, reset: { targets } },
    },
    checks: [{ path: 'clicked', operator: 'equals', value: label }],
  };
}

/** The page is stored beside the sources; compiled code finds it from `dist/plugins/task-source-calibration/src`. */
function pageFolder(): string {
  for (let folder = __dirname; ; folder = dirname(folder)) {
    const candidates = [join(folder, PAGE), join(folder, 'plugins/task-source-calibration', PAGE)];
    const found = candidates.find((candidate) => existsSync(join(candidate, 'index.html')));
    if (found !== undefined) return found;
    if (folder === dirname(folder)) throw new Error(`there is no ${PAGE}/index.html above ${__dirname}`);
  }
}

export const components = [calibration];

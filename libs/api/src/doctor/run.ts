import { stat } from 'node:fs/promises';
import { startSessions } from '@ui-rl/episode';
import { openTasks, type ComponentRegistry, type Log } from '@ui-rl/plugin-kit';
import { resolveModel } from '@ui-rl/models';
import { taskMachine, taskUse, type CliSettings, type RunFile } from '@ui-rl/settings';
import { failure, ok, warning, type Check, type Finding } from './finding';

export interface RunToCheck {
  run: RunFile;
  registry: ComponentRegistry;
}

export const modelCheck = ({ run }: RunToCheck, { hub, models }: CliSettings): Check => ({
  subject: 'model',
  look: async (signal) => {
    const { name } = run.model;
    // Fetches configuration and tokenizer only: a few kilobytes show whether the name, the token and the network
    // work.
    const { dir } = await resolveModel(name, {
      ...hub,
      models,
      signal,
      weights: false,
      onProgress: () => undefined,
    });
    const isFolder = (await stat(dir).catch(() => undefined))?.isDirectory() === true;
    if (isFolder) return [ok(`${name}: ${dir}`)];
    const found = `${name} is not a folder, a name on the hub or a name in UIRL_MODELS`;
    return [failure(found, `known by name: ${Object.keys(models).join(', ')}`)];
  },
});

/** Opens the first task for real, with its environment and the programs that it needs. */
export const environmentCheck = ({ run, registry }: RunToCheck, { chromiumBin }: CliSettings): Check => ({
  subject: 'environment',
  look: async () => {
    const tasks = await openTasks(registry, run.tasks, taskMachine(registry), taskUse(run));
    const task = tasks.length === 0 ? undefined : await tasks.at(0);
    await tasks.close();
    if (task === undefined) return [failure('the sources of tasks have none', 'see tasks in the run file')];
    const { kind: chosen, deadline_ms: deadlineMs, lease_ms: leaseMs } = run.environment;
    const kind = task.environment?.kind ?? chosen.name;
    const choice = kind === chosen.name ? chosen : { name: kind };
    const complaints: Omit<Finding, 'subject'>[] = [];
    const log: Log = (level, message) => {
      if (level === 'warn' || level === 'error')
        complaints.push(warning(message, 'see the documentation of the environment'));
    };
    const programs = { chromium: chromiumBin };
    const sessions = await startSessions({ choice, maxSessions: 1, deadlineMs, programs, log }, registry);
    try {
      const began = Date.now();
      const environment = { kind, options: {} };
      const opened = await sessions.open({
        task: { environment, ...task },
        seed: 0,
        owner: 'doctor',
        deadlineMs,
        leaseMs,
      });
      if (!opened.ok)
        return [
          ...complaints,
          failure(`${kind} does not open "${task.description}": ${opened.error.message}`),
        ];
      const { width, height } = opened.value.screenshot;
      const found = `${kind} opened "${task.description}" in ${Date.now() - began} ms, ${width} × ${height} pixels`;
      return [...complaints, ok(found)];
    } finally {
      await sessions.close();
    }
  },
});

import {
  isRecord,
  PluginError,
  readDeviceChecks,
  readDeviceStart,
  type DeviceCheck,
  type DeviceStart,
  type Task,
} from '@ui-rl/plugin-kit';

/** The task options of an episode in a box. */
export interface GboxTask {
  /** Null: a Linux box starts unchanged. */
  start: DeviceStart | null;
  checks: readonly DeviceCheck[];
}

const KNOWN = ['start', 'validators'];

/**
 * Reads `task.start` and `task.environment.options`. Throws `PluginError` `option` that names the task and the
 * problem.
 */
export function readGboxTask(task: Task, type: 'android' | 'linux'): GboxTask {
  const options = task.environment?.options ?? {};
  const where = `task "${task.id ?? task.description}": environment option`;
  const unknown = Object.keys(options).find((name) => !KNOWN.includes(name));
  if (unknown !== undefined) {
    throw new PluginError('option', `${where} "${unknown}" is unknown (known: ${KNOWN.join(', ')})`);
  }
  const start = startOf(task, options);
  const checks = readDeviceChecks(options.validators, `${where} validators`);
  if (type === 'android') return { start: readDeviceStart(start, `${where} start`), checks };
  if (start !== undefined) throw new PluginError('option', `${where} start: a box of Linux begins as it is`);
  const foreign = checks.find(({ command }) => !command.startsWith('test -e '));
  if (foreign === undefined) return { start: null, checks };
  throw new PluginError(
    'option',
    `${where} validators: a box of Linux is asked for files only, not "${foreign.command}"`,
  );
}

/** The start may be given by the task, or by the options of its environment. */
function startOf({ start }: Task, options: Record<string, unknown>): unknown {
  return isRecord(start) && isRecord(options.start)
    ? { ...options.start, ...start }
    : (start ?? options.start);
}

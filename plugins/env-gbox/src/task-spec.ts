import {
  isRecord,
  PluginError,
  readDeviceChecks,
  readDeviceStart,
  type DeviceCheck,
  type DeviceStart,
  type Task,
} from '@ui-rl/plugin-kit';

/** What a task says of its episode in a box. */
export interface GboxTask {
  /** Null: a box of Linux begins as it is. */
  start: DeviceStart | null;
  checks: readonly DeviceCheck[];
}

const KNOWN = ['start', 'validators'];

/** Reads `task.start` and `task.environment.options`. Throws `PluginError` `option` that names the task and what is wrong. */
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

/** How a task begins may stand with the task, or with the options of its environment. */
function startOf({ start }: Task, options: Record<string, unknown>): unknown {
  return isRecord(start) && isRecord(options.start)
    ? { ...options.start, ...start }
    : (start ?? options.start);
}

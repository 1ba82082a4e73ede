import {
  isRecord,
  PluginError,
  readDeviceChecks,
  readDeviceStart,
  type DeviceCheck,
  type DeviceStart,
  type Task,
} from '@ui-rl/plugin-kit';

/** The task options of an episode on a device. */
export interface AndroidTask {
  start: DeviceStart;
  checks: readonly DeviceCheck[];
}

const KNOWN = ['start', 'validators'];

/**
 * Reads `task.start` and `task.environment.options`. Throws `PluginError` `option` that names the task and the
 * problem.
 */
export function readAndroidTask(task: Task): AndroidTask {
  const options = task.environment?.options ?? {};
  const where = `task "${task.id ?? task.description}": environment option`;
  const unknown = Object.keys(options).find((name) => !KNOWN.includes(name));
  if (unknown !== undefined) {
    throw new PluginError('option', `${where} "${unknown}" is unknown (known: ${KNOWN.join(', ')})`);
  }
  return {
    start: readDeviceStart(startOf(task, options), `${where} start`),
    checks: readDeviceChecks(options.validators, `${where} validators`),
  };
}

/** The start may be given by the task, or by the options of its environment. */
function startOf({ start }: Task, options: Record<string, unknown>): unknown {
  return isRecord(start) && isRecord(options.start)
    ? { ...options.start, ...start }
    : (start ?? options.start);
}

export {
  DeviceCommandError,
  focusOf,
  FOCUS_COMMAND,
  readDeviceChecks,
  validateDevice,
  type DeviceCheck,
  type DeviceValidation,
} from './device-checks';
export { appName, packageName } from './names';
export { openApp, readDeviceStart, startDevice, type DeviceStart } from './start-state';
export { shellWord, type CommandReply, type RunCommand } from './shell';

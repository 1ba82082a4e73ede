export {
  focusOf,
  FOCUS_COMMAND,
  readDeviceChecks,
  validatedState,
  validateDevice,
  type DeviceCheck,
  type DeviceValidation,
} from './device-checks';
export { asDeviceReply, DeviceCommandError, DeviceError, type DeviceErrorCode } from './errors';
export { appName, packageName } from './names';
export { pauseForDevice } from './pause';
export { openApp, readDeviceStart, startDevice, type DeviceStart } from './start-state';
export { shellWord, type CommandReply, type RunCommand } from './shell';

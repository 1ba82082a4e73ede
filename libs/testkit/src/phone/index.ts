export { Adb } from './adb';
export { FakeAdbd } from './fake-adbd';
export { FakeConsole } from './fake-console';
export { FakePhone } from './fake-phone';

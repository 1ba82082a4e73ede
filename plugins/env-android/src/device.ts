import { DeviceError, FOCUS_COMMAND, focusOf, type CommandReply, type Screenshot } from '@ui-rl/plugin-kit';
import type { AdbServer } from './adb-server';
import { screenshotOf } from './screenshot';
import { ADB_KEYBOARD } from './typing';

/** One device of an adb server. All methods throw `DeviceError` if it is gone or too slow. */
export class Device {
  private adbKeyboard: boolean | null = null;

  constructor(
    readonly serial: string,
    private readonly adb: AdbServer,
  ) {}

  shell(command: string, signal: AbortSignal): Promise<CommandReply> {
    return this.adb.shell(this.serial, command, signal);
  }

  /** Runs a command that always succeeds on a working device. */
  async mustRun(command: string, signal: AbortSignal): Promise<string> {
    const { exitCode, stdout } = await this.shell(command, signal);
    if (exitCode === 0) return stdout;
    const said = stdout.trim().split('\n').at(-1);
    throw new DeviceError(
      'crashed',
      `${this.serial}: ${command.slice(0, 80)} ended with ${exitCode}: ${said}`,
    );
  }

  async screenshot(signal: AbortSignal): Promise<Screenshot> {
    const { stdout } = await this.adb.shellBytes(this.serial, 'screencap -p', signal);
    return screenshotOf(stdout, this.serial);
  }

  /** The focused `package/activity`, or a system window. */
  async focus(signal: AbortSignal): Promise<string> {
    return focusOf(await this.mustRun(FOCUS_COMMAND, signal));
  }

  /** Whether the device has booted and accepts commands. */
  async isReady(signal: AbortSignal): Promise<boolean> {
    const { stdout } = await this.shell('getprop sys.boot_completed', signal);
    return stdout.trim() === '1';
  }

  /** Selects ADBKeyBoard as input method if it is installed: `input text` supports only ASCII letters. */
  async useAdbKeyboard(signal: AbortSignal): Promise<boolean> {
    this.adbKeyboard ??= (await this.shell('ime list -s -a', signal)).stdout
      .split('\n')
      .some((line) => line.trim() === ADB_KEYBOARD);
    if (this.adbKeyboard) {
      await this.mustRun(`ime enable ${ADB_KEYBOARD}`, signal);
      await this.mustRun(`ime set ${ADB_KEYBOARD}`, signal);
    }
    return this.adbKeyboard;
  }

  /**
   * Restores the device's own input method if ADBKeyBoard is selected. Reads the current setting from the device,
   * since an episode of another run, or of a process that has exited, may have changed it.
   */
  async restoreKeyboard(signal: AbortSignal): Promise<void> {
    const current = await this.mustRun('settings get secure default_input_method', signal);
    if (current.trim() === ADB_KEYBOARD) await this.mustRun('ime reset', signal);
  }
}

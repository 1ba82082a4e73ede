import { DeviceError, FOCUS_COMMAND, focusOf, type CommandReply, type Screenshot } from '@ui-rl/plugin-kit';
import type { AdbServer } from './adb-server';
import { screenshotOf } from './screenshot';
import { ADB_KEYBOARD } from './typing';

/** One device that an adb server reaches. Everything throws `DeviceError` where it is gone or too slow. */
export class Device {
  private adbKeyboard: boolean | null = null;

  constructor(
    readonly serial: string,
    private readonly adb: AdbServer,
  ) {}

  shell(command: string, signal: AbortSignal): Promise<CommandReply> {
    return this.adb.shell(this.serial, command, signal);
  }

  /** Runs a command that always works on a device which does. */
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

  /** What has the focus: `package/activity`, or a window of the system. */
  async focus(signal: AbortSignal): Promise<string> {
    return focusOf(await this.mustRun(FOCUS_COMMAND, signal));
  }

  /** Whether the device has booted, and can be asked for something. */
  async isReady(signal: AbortSignal): Promise<boolean> {
    const { stdout } = await this.shell('getprop sys.boot_completed', signal);
    return stdout.trim() === '1';
  }

  /** Makes ADBKeyBoard the input method, where it is installed: `input text` knows no letters beyond ASCII. */
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
   * Gives the device its own input method back where it is ADBKeyBoard. The device is asked, since an episode of another run, or of a
   * process that is no more, may have left it so.
   */
  async restoreKeyboard(signal: AbortSignal): Promise<void> {
    const current = await this.mustRun('settings get secure default_input_method', signal);
    if (current.trim() === ADB_KEYBOARD) await this.mustRun('ime reset', signal);
  }
}

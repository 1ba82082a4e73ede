import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { drawPng, isIn } from './png';

export interface PhoneReply {
  exitCode: number;
  stdout: Buffer;
  stderr: Buffer;
}

type Words = readonly string[];
type Answer = { exitCode?: number; lines?: readonly string[] };

const LAUNCHER = 'com.android.launcher3/com.android.launcher3.uioverrides.QuickstepLauncher';
const SETTINGS = 'com.android.settings/com.android.settings.Settings';
const ADB_KEYBOARD = 'com.android.adbkeyboard/.AdbIME';
const PROGRAMS = [
  'settings', 'input', 'dumpsys', 'pm', 'am', 'cmd', 'svc', 'ime', 'getprop', 'screencap', 'test', 'reboot', 'rm',
]; // prettier-ignore
const END = '-- end of the answer --';

/** Each fake program sends its arguments to the phone and prints the answer. A real shell interprets the commands. */
const PRELUDE = `
phone() {
  { for word in "$@"; do printf '%s\\0' "$word"; done; printf '\\001\\n'; } >&3
  IFS= read -r code <&4
  while IFS= read -r line <&4 && [ "$line" != '${END}' ]; do printf '%s\\n' "$line"; done
  return "$code"
}
${PROGRAMS.map((name) => `${name}() { phone ${name} "$@"; }`).join('\n')}
`;

/** Drawn elements, as fractions of the screen: the icon of Settings on the launcher, the Wi-Fi switch in Settings. */
const ICON = { x: 0.1, y: 0.1, width: 0.3, height: 0.2 };
const SWITCH = { x: 0.6, y: 0.4, width: 0.3, height: 0.1 };

/**
 * A fake phone: settings, packages, files, a focused window, a drawn screen, and the Android commands that report
 * them and send input. Commands run in this machine's real shell, so quoting matters; programs that would change
 * something (`rm`, `reboot`) are only recorded.
 */
export class FakePhone {
  readonly settings = new Map<string, string>([
    ['global wifi_on', '1'],
    ['global airplane_mode_on', '0'],
    ['system screen_brightness', '128'],
    ['system accelerometer_rotation', '0'],
  ]);
  readonly packages = new Set(['com.android.settings', 'com.android.chrome', 'com.android.launcher3']);
  readonly files = new Set<string>();
  /** Programs and their arguments, in order. */
  readonly log: string[][] = [];
  /** The text typed so far. */
  typed = '';
  focus = LAUNCHER;
  booted = true;
  landscape = false;
  /** Written before the image, as some devices do. */
  warning = '';
  keyboards = ['com.android.inputmethod.latin/.LatinIME'];
  keyboard = this.keyboards[0];

  constructor(private readonly size = { width: 90, height: 160 }) {}

  get screen(): { width: number; height: number } {
    const { width, height } = this.size;
    return this.landscape ? { width: height, height: width } : this.size;
  }

  /** The center of an element. */
  place(of: 'icon' | 'switch'): [number, number] {
    const { x, y, width, height } = of === 'icon' ? ICON : SWITCH;
    const screen = this.screen;
    return [Math.round((x + width / 2) * screen.width), Math.round((y + height / 2) * screen.height)];
  }

  /** Adds ADBKeyBoard to the input methods. */
  installAdbKeyboard(): void {
    this.keyboards = [...this.keyboards, ADB_KEYBOARD];
  }

  screenshot(): Buffer {
    const { width, height } = this.screen;
    const scaled = ({ x, y, ...size }: typeof ICON) => ({
      x: x * width,
      y: y * height,
      width: size.width * width,
      height: size.height * height,
    });
    const wifi = this.settings.get('global wifi_on') === '1';
    if (this.focus === LAUNCHER) {
      return drawPng(this.screen, [20, 40, 90], [{ ...scaled(ICON), colour: [200, 200, 200] }]);
    }
    const colour = wifi ? ([0, 180, 0] as const) : ([120, 120, 120] as const);
    return drawPng(this.screen, [240, 240, 240], [{ ...scaled(SWITCH), colour }]);
  }

  /** Runs a command in the phone's shell. */
  async run(command: string): Promise<PhoneReply> {
    if (command === 'screencap -p') {
      const stdout = Buffer.concat([Buffer.from(this.warning), this.screenshot()]);
      return { exitCode: 0, stdout, stderr: Buffer.alloc(0) };
    }
    const shell = spawn('/bin/sh', ['-c', `${PRELUDE}\n${command}`], {
      env: { PATH: '/usr/bin:/bin' },
      stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
    });
    const [, out, err, questions, answers] = shell.stdio;
    let words: string[] = [];
    // Arguments may contain line breaks: a request ends with a line that ends with \001.
    let text = '';
    createInterface({ input: questions as NodeJS.ReadableStream }).on('line', (line) => {
      text += line;
      if (!text.endsWith('\u0001')) {
        text += '\n';
        return;
      }
      words = text.slice(0, -1).split('\0').slice(0, -1);
      text = '';
      const { exitCode = 0, lines = [] } = this.answer(words);
      (answers as NodeJS.WritableStream).write([exitCode, ...lines, END].map((each) => `${each}\n`).join(''));
    });
    const [stdout, stderr, exitCode] = await Promise.all([
      bytesOf(out as NodeJS.ReadableStream),
      bytesOf(err as NodeJS.ReadableStream),
      new Promise<number>((resolve) => shell.once('exit', (code) => resolve(code ?? 255))),
    ]);
    return { exitCode, stdout, stderr };
  }

  private answer(words: Words): Answer {
    this.log.push([...words]);
    const [program, ...rest] = words;
    const answers: Record<string, (words: Words) => Answer> = {
      settings: (w) => this.answerSettings(w),
      input: (w) => this.answerInput(w),
      dumpsys: (w) => this.answerDumpsys(w),
      pm: (w) => this.answerPackages(w),
      am: (w) => this.answerActivities(w),
      cmd: (w) => this.answerCmd(w),
      svc: (w) => this.answerSvc(w),
      ime: (w) => this.answerIme(w),
      getprop: (w) => ({ lines: [w[0] === 'sys.boot_completed' && this.booted ? '1' : ''] }),
      test: ([flag, path]) => ({ exitCode: flag === '-e' ? (this.files.has(path) ? 0 : 1) : 2 }),
    };
    return answers[program]?.(rest) ?? {};
  }

  private answerSettings([verb, namespace, key, value]: Words): Answer {
    const name = `${namespace} ${key}`;
    if (!['global', 'system', 'secure'].includes(namespace))
      return { exitCode: 255, lines: ['Invalid namespace'] };
    if (verb === 'put') this.settings.set(name, value);
    return verb === 'get' ? { lines: [this.settings.get(name) ?? 'null'] } : {};
  }

  private answerInput([verb, ...words]: Words): Answer {
    const keys: Record<string, () => void> = {
      KEYCODE_HOME: () => (this.focus = LAUNCHER),
      KEYCODE_BACK: () => (this.focus = LAUNCHER),
      KEYCODE_ENTER: () => (this.typed += '\n'),
      KEYCODE_TAB: () => (this.typed += '\t'),
    };
    if (verb === 'tap') this.touch(Number(words[0]), Number(words[1]));
    else if (verb === 'text') this.typed += words[0].replaceAll('%s', ' ');
    else if (verb === 'keyevent') keys[words[0]]?.();
    else if (!['swipe', 'draganddrop', 'keycombination'].includes(verb)) {
      return { exitCode: 1, lines: [`Error: Unknown command: ${verb}`] };
    }
    return {};
  }

  private touch(x: number, y: number): void {
    const [atX, atY] = [x / this.screen.width, y / this.screen.height];
    if (this.focus === LAUNCHER && isIn(ICON, atX, atY)) this.focus = SETTINGS;
    else if (this.focus === SETTINGS && isIn(SWITCH, atX, atY)) {
      this.settings.set('global wifi_on', this.settings.get('global wifi_on') === '1' ? '0' : '1');
    }
  }

  private answerDumpsys([service]: Words): Answer {
    if (service !== 'window') return { lines: [`Can't find service: ${service}`] };
    return {
      lines: ['WINDOW MANAGER', `  mCurrentFocus=Window{1a2b3c u0 ${this.focus}}`, '  mFocusedApp=…'],
    };
  }

  private answerPackages([verb, what, filter = '']: Words): Answer {
    if (verb !== 'list' || what !== 'packages') return { exitCode: 1 };
    return {
      lines: [...this.packages].filter((name) => name.includes(filter)).map((name) => `package:${name}`),
    };
  }

  private answerActivities([verb, ...words]: Words): Answer {
    if (verb === 'force-stop' && this.focus.startsWith(`${words[0]}/`)) this.focus = LAUNCHER;
    if (verb === 'broadcast' && words[1] === 'ADB_INPUT_B64' && this.keyboard === ADB_KEYBOARD) {
      this.typed += Buffer.from(words[4], 'base64').toString('utf8');
    }
    if (verb !== 'start') return {};
    const component = words.at(-1) ?? '';
    if (!this.packages.has(component.split('/')[0])) {
      return { exitCode: 1, lines: ['Error type 3', `Error: Activity class {${component}} does not exist.`] };
    }
    this.focus = component.replace(/^([^/]+)\/\./, '$1/$1.');
    return { lines: ['Status: ok'] };
  }

  private answerCmd([service, verb, ...words]: Words): Answer {
    if (service !== 'package' || verb !== 'resolve-activity')
      return { exitCode: 255, lines: [`Can't find service: ${service}`] };
    const name = words.at(-1) ?? '';
    if (!this.packages.has(name)) return { lines: ['No activity found'] };
    const activity = name === 'com.android.settings' ? '.Settings' : '.MainActivity';
    return { lines: ['priority=0 preferredOrder=0 match=0x108000', `${name}/${activity}`] };
  }

  private answerSvc([what, verb]: Words): Answer {
    if (what === 'wifi') this.settings.set('global wifi_on', verb === 'enable' ? '1' : '0');
    return {};
  }

  private answerIme([verb, ...words]: Words): Answer {
    if (verb === 'list') return { lines: this.keyboards };
    if (verb === 'set') this.keyboard = words[0];
    if (verb === 'reset') this.keyboard = this.keyboards[0];
    return {};
  }
}

async function bytesOf(stream: NodeJS.ReadableStream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Readable, Writable } from 'node:stream';
import type { Application } from './applications';
import { chromiumCommand } from './chromium-command';
import type { DesktopSpec } from './desktop-spec';
import { DesktopError } from './errors';
import { PagePipe } from './page-pipe';
import { plainState } from './plain';
import type { Program } from './program';
import type { Kernel, Seat } from './seat';
import type { XConnection } from './x-connection';

export type State = Record<string, unknown> | null;

/** The program that runs on a desktop. */
export interface Shown {
  program: Program;
  /** Substring of its window title. */
  window?: string;
  /** Sets the initial state of the episode, after its window has appeared. */
  begin(): Promise<void>;
  /** Reads its state. Does not retry after `givenUp` aborts. */
  state(givenUp?: AbortSignal): Promise<State>;
  /** Whether reading the state is cheap enough to do after every action. */
  tellsState: boolean;
  /** Resolves when it shows the effect of the last action, as far as it can determine that. */
  settled(givenUp: AbortSignal): Promise<void>;
  /** Whether the window was closed, although its program may still run. */
  isClosed(): boolean;
}

export interface ShowOptions {
  seat: Seat;
  x: XConnection;
  spec: DesktopSpec;
  seed: number;
  /** Variables through which programs find the display. */
  environment: Readonly<Record<string, string>>;
  memoryMb: number;
  chromium: string | undefined;
  kernel: Kernel;
  /** Whether programs are denied access to files of this process's user. */
  confines: boolean;
}

const TWO_FRAMES = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))';
/** A page behind another window does not draw frames. */
const NO_FRAME_MS = 250;
const DRAWN = `Promise.race([${TWO_FRAMES}, new Promise((done) => setTimeout(done, ${NO_FRAME_MS}))])`;
const MAX_OUTPUT = 2 ** 21;

/** Starts the program or page of a task. */
export function show(options: ShowOptions): Shown {
  const { shown } = options.spec;
  return 'page' in shown ? showPage(shown, options) : showApplication(shown.application, options);
}

function showApplication(application: Application, options: ShowOptions): Shown {
  const { seat, x, spec, seed, memoryMb, kernel, confines } = options;
  if (confines && !kernel.confinement) throw unconfined(spec.name);
  if (!application.network && !kernel.network) {
    throw new DesktopError(
      'no_confinement',
      `the kernel gives ${spec.name} no own network (user namespaces); allow them, or where it may reach the network ` +
        `say so in DESKTOP_APPLICATIONS: ${spec.name}: { network: true }`,
    );
  }
  if (application.home !== undefined) cpSync(application.home, seat.home, { recursive: true });
  seat.own(seat.home);
  const episode = seat.write('episode.json', JSON.stringify({ seed, reset: spec.reset }));
  seat.own(episode);
  const environment = { ...options.environment, ...application.environment, UIRL_EPISODE: episode };
  const sandbox = confines ? { files: application.files } : undefined;
  const starting = { environment, network: application.network, memoryMb, sandbox };
  const { state } = application;
  return {
    program: seat.start(application.command, starting),
    window: application.window,
    begin: async () => {},
    state: async () => (state === undefined ? windowsOf(x) : stateOf(seat.start(state, starting), spec.name)),
    tellsState: false,
    settled: async () => {},
    isClosed: () => false,
  };
}

function unconfined(name: string): DesktopError {
  return new DesktopError(
    'no_confinement',
    `${name} would run as the user of this service, and could read its files and end it: install bubblewrap (sudo apt-get install bubblewrap) ` +
      'where the kernel allows user namespaces, start the service as root, or, for programs that you trust, set DESKTOP_CONFINEMENT=off',
  );
}

/** The fallback state: the open windows. */
async function windowsOf(x: XConnection): Promise<State> {
  const windows = await x.windows();
  return { windows: await Promise.all(windows.map((window) => x.title(window))) };
}

async function stateOf(program: Program, name: string): Promise<State> {
  let output = '';
  program.child.stdout?.on('data', (text: string) => {
    if (output.length < MAX_OUTPUT) output += text;
  });
  const closed = new Promise((resolve) => program.child.once('close', resolve));
  const { code } = await program.ended;
  await closed;
  if (code === 0) return plainState(output, name);
  throw new DesktopError('application_error', `the state of ${name} cannot be read: ${program.howEnded}`);
}

function showPage({ folder }: { folder: string }, options: ShowOptions): Shown {
  const { seat, spec, seed, environment, memoryMb, chromium, kernel } = options;
  if (chromium === undefined) {
    throw new DesktopError(
      'no_desktop',
      'pages need Chromium. Install it with\n  sudo apt-get install chromium\nor set CHROMIUM_BIN to the path of an installed one',
    );
  }
  const files = join(seat.folder, 'page');
  cpSync(folder, files, { recursive: true });
  seat.own(files);
  const address = pathToFileURL(join(files, 'index.html')).href;
  const profile = join(seat.home, '.profile');
  const sandbox = kernel.namespaces;
  const command = chromiumCommand({ chromium, address, profile, screen: spec.screen, sandbox });
  const program = seat.start(command, {
    environment,
    network: !kernel.network,
    memoryMb,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
  });
  const [, , , output, input] = program.child.stdio as unknown as [null, null, null, Writable, Readable];
  const pipe = new PagePipe(output, input);
  const reset = JSON.stringify({ ...spec.reset, seed });
  return {
    program,
    begin: async () => {
      await pipe.attach(address);
      await pipe.evaluate(withoutValue(`window.uirl?.reset?.(${reset})`));
    },
    state: (givenUp) => pageState(pipe, spec.name, givenUp),
    tellsState: true,
    settled: async (givenUp) => {
      await pipe.evaluate(withoutValue(`window.uirl?.settled?.() ?? ${DRAWN}`), givenUp);
    },
    isClosed: () => pipe.isClosed,
  };
}

/** Discards the result of an expression in the page, which may not be JSON. */
function withoutValue(expression: string): string {
  return `(async () => { await (${expression}); })()`;
}

async function pageState(pipe: PagePipe, name: string, givenUp?: AbortSignal): Promise<State> {
  const text = await pipe.evaluate(
    '(async () => JSON.stringify((await window.uirl?.state?.()) ?? { title: document.title }))()',
    givenUp,
  );
  return plainState(String(text), name);
}

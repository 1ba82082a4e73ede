import { didYouMean, isRecord, show, type Task } from '@ui-rl/plugin-kit';
import type { Application } from './applications';
import { DesktopError } from './errors';

export interface ScreenSize {
  /** In pixels. */
  width: number;
  height: number;
}

/** The desktop options of a task. */
export interface DesktopSpec {
  screen: ScreenSize;
  /** The program to show: an application of this machine, or a page of a task source in a full-screen browser. */
  shown: { application: Application } | { page: string; folder: string };
  /** Name for messages. */
  name: string;
  /** Passed to it together with the seed. */
  reset: Record<string, unknown>;
}

export interface DesktopRules {
  /** Applications allowed by this machine's owner, by name. */
  applications: ReadonlyMap<string, Application>;
  /** Page name → folder with its `index.html`. */
  pages: Readonly<Record<string, string>>;
}

type Refuse = (problem: string) => never;

const KNOWN = ['application', 'page', 'screen', 'reset'];
const DEFAULT_SCREEN: ScreenSize = { width: 1280, height: 800 };
const [LEAST_SIDE, MOST_SIDE] = [64, 4096];

/** Throws a `DesktopError` `bad_task` that describes the invalid option in `environment.options` of a task. */
export function readDesktopSpec(task: Task, rules: DesktopRules): DesktopSpec {
  const options: unknown = task.environment?.options ?? {};
  const refuse: Refuse = (problem) => {
    throw new DesktopError('bad_task', `task "${task.description}": environment.options: ${problem}`);
  };
  if (!isRecord(options)) return refuse(`must be an object, found ${show(options)}`);
  const unknown = Object.keys(options).find((key) => !KNOWN.includes(key));
  if (unknown !== undefined) refuse(`"${unknown}" is unknown, known: ${KNOWN.join(', ')}`);
  const { application, page, reset = {} } = options;
  if ((application === undefined) === (page === undefined))
    return refuse('"application" or "page" is needed, and only one of them');
  return {
    screen: readScreen(options.screen, refuse),
    shown: page === undefined ? readApplication(application, rules, refuse) : readPage(page, rules, refuse),
    name: String(application ?? page),
    reset: isRecord(reset)
      ? { ...reset, ...task.start }
      : refuse(`"reset" must be an object, found ${show(reset)}`),
  };
}

/** A task names an application; the machine defines the command for the name. */
function readApplication(
  name: unknown,
  { applications }: DesktopRules,
  refuse: Refuse,
): DesktopSpec['shown'] {
  const application = typeof name === 'string' ? applications.get(name) : undefined;
  if (application !== undefined) return { application };
  const known = [...applications.keys()].toSorted();
  if (known.length === 0)
    return refuse(
      `"application" is ${show(name)}, but this machine allows none: DESKTOP_APPLICATIONS names a file that lists them`,
    );
  return refuse(
    `"application" is ${show(name)}, allowed by DESKTOP_APPLICATIONS of this machine: ${known.join(', ')}.${didYouMean(String(name), known)}`,
  );
}

function readPage(name: unknown, { pages }: DesktopRules, refuse: Refuse): DesktopSpec['shown'] {
  if (typeof name === 'string' && Object.hasOwn(pages, name)) return { page: name, folder: pages[name] };
  return refuse(
    `"page" is ${show(name)}, known pages: ${Object.keys(pages).toSorted().join(', ') || 'none'}`,
  );
}

function readScreen(screen: unknown, refuse: Refuse): ScreenSize {
  if (screen === undefined) return DEFAULT_SCREEN;
  if (!isRecord(screen)) return refuse(`"screen" must have "width" and "height", found ${show(screen)}`);
  return { width: readSide(screen, 'width', refuse), height: readSide(screen, 'height', refuse) };
}

function readSide(screen: Record<string, unknown>, side: 'width' | 'height', refuse: Refuse): number {
  const { [side]: value } = screen;
  if (typeof value === 'number' && Number.isInteger(value) && value >= LEAST_SIDE && value <= MOST_SIDE)
    return value;
  return refuse(
    `"screen.${side}" must be a whole number from ${LEAST_SIDE} to ${MOST_SIDE}, found ${show(value)}`,
  );
}

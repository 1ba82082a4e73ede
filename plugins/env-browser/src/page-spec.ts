import { statSync } from 'node:fs';
import { join } from 'node:path';
import { isRecord, show, type Check, type Task } from '@ui-rl/plugin-kit';
import { hostOf, isPrivateHost } from './addresses';
import { deviceProblem, type Device, type Devices } from './device';
import { BrowserError } from './errors';
import { isWithin, readFixtureFiles, type FixtureFile } from './fixture-files';
import { isStorageStateName } from './storage-state';

export interface Viewport {
  /** In CSS pixels. */
  width: number;
  height: number;
}

/** The page options of a task. */
export interface PageSpec {
  /** Start address of the episode. */
  url: string;
  /** Name of the plugin page, or null for a page from the network. */
  page: string | null;
  viewport: Viewport;
  /** Origins that the page may contact, including that of the start address. */
  origins: ReadonlySet<string>;
  /** The origins that are not served from a local folder. */
  networkOrigins: readonly string[];
  /** Passed to the page's `window.uirl.reset` together with the seed. */
  reset: Record<string, unknown>;
  /** Name of a script that runs before the page's own scripts, or null. */
  script: string | null;
  /** Screenshot pixels per CSS pixel. */
  scale: number;
  /** The emulated device; null for a desktop window. */
  device: Device | null;
  /** Whether pointer actions are touches or mouse clicks. */
  input: 'mouse' | 'touch';
  /** Name of the stored login state for the page's profile, or null. */
  storageState: string | null;
  /** The files that file choosers of the page offer. */
  files: readonly FixtureFile[];
  /** Whether pages may download files. */
  downloads: boolean;
  /** Checks evaluated on the page at the end; state checks are evaluated elsewhere. */
  checks: readonly Check[];
}

/** Limits that the machine and the run set for tasks. */
export interface PageRules {
  /** Page → folder. */
  pages: Readonly<Record<string, string>>;
  /** Page declared by a task source → why its folder is unavailable. */
  absentPages: Readonly<Record<string, string>>;
  /** Script → file. */
  scripts: Readonly<Record<string, string>>;
  /** Allowed origins on this machine or in a private network. */
  privateOrigins: ReadonlySet<string>;
  /** Folder of storage states; undefined if none is configured. */
  storageStates?: string | undefined;
  /** Folder of files for pages from the network; undefined if none is configured. */
  files?: string | undefined;
  /** Devices by name. */
  devices?: Devices;
  /** Used if a task names none. */
  device?: string | undefined;
  /** Whether pages are watched, so that they can be reset in place. */
  resetsInPlace?: boolean;
}

const DEFAULT_VIEWPORT: Viewport = { width: 1280, height: 800 };
const MAX_SIDE = 4096;
const MAX_SCALE = 4;
const KNOWN = [
  ...['page', 'path', 'url', 'viewport', 'scale', 'allowed_origins', 'script', 'reset', 'input'],
  ...['storage_state', 'device', 'files', 'downloads'],
];

type Options = Record<string, unknown>;
type Refuse = (problem: string) => never;

/**
 * Reads `task.environment.options`: `page` (name of a plugin page) with `path` in its folder, or `url`; `viewport
 * {width, height}`, `allowed_origins`, `reset`, `input` (`mouse` or `touch`), `files`, `downloads`, and `device`, whose
 * viewport, scale and input are the defaults. Throws `BrowserError` that names the invalid option.
 */
export function readPageSpec(task: Task, rules: PageRules): PageSpec {
  const { pages, privateOrigins } = rules;
  const refuse: Refuse = (problem) => {
    throw new BrowserError(
      'bad_task',
      `task "${task.id ?? task.description}": environment option ${problem}`,
    );
  };
  const options = task.environment?.options ?? {};
  refuseUnknown(options, KNOWN, refuse);
  const start = readStart(options, rules, refuse);
  const origins = [new URL(start.url).origin, ...readOrigins(options.allowed_origins, refuse)];
  const local = new Set(Object.keys(pages).map(pageOrigin));
  const networkOrigins = origins.filter((origin) => !local.has(origin));
  refusePrivate(networkOrigins, privateOrigins, refuse);
  const device = readDevice(options.device, rules, refuse);
  return {
    ...start,
    viewport: readViewport(options.viewport, device?.viewport ?? DEFAULT_VIEWPORT, refuse),
    origins: new Set(origins),
    networkOrigins,
    script: readScript(options.script, rules.scripts, refuse),
    scale: readScale(options.scale, device?.deviceScaleFactor ?? 1, refuse),
    device,
    reset: { ...readReset(options.reset, refuse), ...task.start },
    input: readInput(options.input, device?.hasTouch === true ? 'touch' : 'mouse', refuse),
    storageState: readStorageStateName(options.storage_state, refuse),
    files: readFixtureFiles(options.files, start.page === null ? rules.files : pages[start.page], refuse),
    downloads: readDownloads(options.downloads, task.checks, refuse),
    checks: task.checks ?? [],
  };
}

/** The origin at which a plugin page is served. */
export function pageOrigin(page: string): string {
  return `http://${page}.uirl`;
}

/** The error message for a start address that answers with an HTTP status of 400 or more. */
export function refusalOf({ url, page }: PageSpec, status: number): string {
  const { pathname } = new URL(url);
  if (page === null || status !== 404) return `${url} answers ${status}`;
  const file = pathname.endsWith('/') ? `${pathname}index.html` : pathname;
  return `the folder of the page "${page}" has no ${decodeURIComponent(file.slice(1))}: a task names another one of its files by "path"`;
}

function readStart(
  { page, path, url }: Options,
  { pages, absentPages }: PageRules,
  refuse: Refuse,
): { url: string; page: string | null } {
  if ((page === undefined) === (url === undefined)) refuse('"page" or "url" is needed, and only one of them');
  if (page === undefined) {
    if (path !== undefined) refuse('"path" is a place in the folder of a "page", which is not given');
    return { url: readUrl(url, refuse), page: null };
  }
  if (typeof page !== 'string' || !Object.hasOwn(pages, page)) {
    if (typeof page === 'string' && Object.hasOwn(absentPages, page)) {
      refuse(`"page" is ${show(page)}, whose files this machine does not name: ${absentPages[page]}`);
    }
    const known = Object.keys(pages).toSorted().join(', ') || 'none';
    return refuse(`"page" is ${show(page)}, known pages: ${known}`);
  }
  return { url: `${pageOrigin(page)}/${readPath(path, pages[page], refuse)}`, page };
}

/**
 * A file in the folder of a page such as `games/my chess.html`, or a folder with an `index.html`, percent-encoded for
 * a URL.
 */
function readPath(path: unknown, folder: string, refuse: Refuse): string {
  if (path === undefined) return '';
  const name = typeof path === 'string' ? path.replace(/\/$/, '') : '';
  if (isWithin(name)) {
    const isFolder = statSync(join(folder, name), { throwIfNoEntry: false })?.isDirectory() === true;
    return `${encodeURI(name).replace(/[?#]/g, encodeURIComponent)}${isFolder ? '/' : ''}`;
  }
  return refuse(
    `"path" must lead to a file in the folder of the page, such as "games/chess.html", found ${show(path)}`,
  );
}

function readUrl(url: unknown, refuse: Refuse): string {
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    return refuse(`"url" must be an http or https address, found ${show(url)}`);
  }
  return parsed.href;
}

function readDevice(
  name: unknown,
  { devices = {}, device: usual }: PageRules,
  refuse: Refuse,
): Device | null {
  const named = name ?? usual;
  if (named === undefined) return null;
  const problem = deviceProblem(named, devices);
  return problem === undefined ? devices[named as string] : refuse(`"device" ${problem}`);
}

function readViewport(viewport: unknown, usual: Viewport, refuse: Refuse): Viewport {
  if (viewport === undefined) return usual;
  if (!isRecord(viewport))
    return refuse(`"viewport" must have "width" and "height", found ${show(viewport)}`);
  refuseUnknown(viewport, ['width', 'height'], refuse);
  return {
    width: wholeNumber(viewport.width, 16, MAX_SIDE, '"viewport.width"', refuse),
    height: wholeNumber(viewport.height, 16, MAX_SIDE, '"viewport.height"', refuse),
  };
}

function readOrigins(origins: unknown, refuse: Refuse): string[] {
  if (origins === undefined) return [];
  if (!Array.isArray(origins)) return refuse(`"allowed_origins" must be a list, found ${show(origins)}`);
  return origins.map((origin: unknown) => {
    const valid = typeof origin === 'string' && URL.canParse(origin) && /^https?:/.test(origin);
    if (valid && new URL(origin).origin === origin) return origin;
    return refuse(
      `"allowed_origins" holds ${show(origin)}, expected origins such as "https://example.com", without a path`,
    );
  });
}

/** Anyone may publish a task, so a task alone must not grant access to private addresses. */
function refusePrivate(origins: readonly string[], named: ReadonlySet<string>, refuse: Refuse): void {
  const hidden = origins.find((origin) => !named.has(origin) && isPrivateHost(hostOf(origin)));
  if (hidden === undefined) return;
  refuse(
    `"url" or "allowed_origins" names ${hidden}, on this machine or in a private network; where that is meant, say so ` +
      `in the run file: environment: { kind: { private_origins: ['${hidden}'] } }`,
  );
}

function readReset(reset: unknown, refuse: Refuse): Record<string, unknown> {
  if (reset === undefined) return {};
  return isRecord(reset) ? reset : refuse(`"reset" must be an object, found ${show(reset)}`);
}

/** A task names a script of the service; it cannot contain one. */
function readScript(
  script: unknown,
  scripts: Readonly<Record<string, string>>,
  refuse: Refuse,
): string | null {
  if (script === undefined) return null;
  if (typeof script === 'string' && Object.hasOwn(scripts, script)) return script;
  const known = Object.keys(scripts).toSorted().join(', ') || 'none';
  return refuse(`"script" is ${show(script)}, known scripts: ${known}`);
}

function readScale(scale: unknown, usual: number, refuse: Refuse): number {
  if (scale === undefined) return usual;
  if (typeof scale === 'number' && scale >= 1 / MAX_SCALE && scale <= MAX_SCALE) return scale;
  return refuse(`"scale" must be a number from ${1 / MAX_SCALE} to ${MAX_SCALE}, found ${show(scale)}`);
}

function readInput(input: unknown, usual: 'mouse' | 'touch', refuse: Refuse): 'mouse' | 'touch' {
  if (input === undefined) return usual;
  return input === 'mouse' || input === 'touch'
    ? input
    : refuse(`"input" must be "mouse" or "touch", found ${show(input)}`);
}

function readDownloads(downloads: unknown, checks: Task['checks'], refuse: Refuse): boolean {
  if (downloads !== undefined && typeof downloads !== 'boolean')
    refuse(`"downloads" must be true or false, found ${show(downloads)}`);
  const at = checks?.findIndex(({ kind }) => kind === 'download') ?? -1;
  if (downloads !== true && at >= 0)
    refuse(`"downloads" must be true for checks.${at}, which is of kind "download"`);
  return downloads === true;
}

/** A task names a file of the service; it cannot contain one or give a path. */
function readStorageStateName(name: unknown, refuse: Refuse): string | null {
  if (name === undefined) return null;
  if (isStorageStateName(name)) return name;
  return refuse(
    `"storage_state" must be the name of a file in the folder of the env service, without ".json", found ${show(name)}`,
  );
}

function wholeNumber(value: unknown, min: number, max: number, name: string, refuse: Refuse): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
  return refuse(`${name} must be a whole number from ${min} to ${max}, found ${show(value)}`);
}

function refuseUnknown(options: Options, known: string[], refuse: Refuse): void {
  const unknown = Object.keys(options).find((key) => !known.includes(key));
  if (unknown !== undefined) refuse(`"${unknown}" is unknown, known: ${known.join(', ')}`);
}

import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { DesktopError } from './errors';

/** Search path of programs, independent of this process's environment. */
export const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin';

/** Environment variables that override program paths → description. */
export const PROGRAM_VARIABLES = {
  XVFB_BIN: 'Xvfb to use for desktops',
  OPENBOX_BIN: 'openbox to use for desktops',
} as const;

const INSTALL = 'sudo apt-get install xvfb openbox';

/** The programs that make up a desktop. */
export interface DesktopPrograms {
  xvfb: string;
  openbox: string;
  /** Browser for pages; undefined if there is none. */
  chromium: string | undefined;
}

/** Throws a `DesktopError` `no_desktop` that names the missing program and the command that installs it. */
export function findPrograms(
  variables: Readonly<Record<string, string>>,
  chromium: string | undefined,
): DesktopPrograms {
  if (process.platform !== 'linux')
    throw new DesktopError('no_desktop', `desktops need Linux, this is ${process.platform}`);
  const found = {
    xvfb: named(variables, 'XVFB_BIN') ?? onPath('Xvfb'),
    openbox: named(variables, 'OPENBOX_BIN') ?? onPath('openbox'),
    setpriv: onPath('setpriv'),
    prlimit: onPath('prlimit'),
    xkbcomp: onPath('xkbcomp'),
  };
  const missing = Object.entries(found).flatMap(([name, path]) => (path === undefined ? [name] : []));
  if (missing.length > 0) {
    throw new DesktopError(
      'no_desktop',
      `a desktop needs ${missing.join(', ')}, not installed here. Install it with\n  ${INSTALL}`,
    );
  }
  const { xvfb, openbox } = found as Record<string, string>;
  return { xvfb, openbox, chromium: chromium ?? onPath('chromium', 'chromium-browser', 'google-chrome') };
}

function named(
  variables: Readonly<Record<string, string>>,
  variable: keyof typeof PROGRAM_VARIABLES,
): string | undefined {
  const path: string | undefined = variables[variable];
  if (path === undefined || isExecutable(path)) return path;
  throw new DesktopError(
    'no_desktop',
    `${variable}=${path} is not a program; correct it, or install one: ${INSTALL}`,
  );
}

function onPath(...names: string[]): string | undefined {
  return names
    .flatMap((name) => PATH.split(delimiter).map((folder) => join(folder, name)))
    .find((path) => isExecutable(path));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

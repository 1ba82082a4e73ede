import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { isRecord, readYaml, show } from '@ui-rl/plugin-kit';
import { DesktopError } from './errors';

/** A program that this machine's owner allows tasks to show. */
export interface Application {
  /** Program and arguments; started in the home folder of the session. */
  command: readonly string[];
  /** Template folder that is copied to every home. */
  home?: string;
  /** Program and arguments that print the state as a JSON object; started in the home folder. */
  state?: readonly string[];
  /** Substring of the title of the window that shows that it has started; any window if absent. */
  window?: string;
  /** Further environment variables. */
  environment: Readonly<Record<string, string>>;
  /** Whether it may access the network. */
  network: boolean;
  /** Additional files and folders that it may read if it does not run as its own user. */
  files: readonly string[];
}

export const APPLICATIONS = 'DESKTOP_APPLICATIONS';
const KNOWN = ['command', 'home', 'state', 'window', 'environment', 'network', 'files'];

/** Reads the YAML list of applications. Throws a `DesktopError` `no_desktop` that describes the first problem. */
export function readApplications(file: string | undefined): ReadonlyMap<string, Application> {
  if (file === undefined) return new Map();
  const content = contentOf(file);
  if (!isRecord(content)) throw wrong(file, 'must map names of applications to what they are');
  return new Map(Object.entries(content).map(([name, given]) => [name, readApplication(name, given, file)]));
}

function contentOf(file: string): unknown {
  try {
    return readYaml(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw wrong(file, cause instanceof Error ? cause.message : String(cause));
  }
}

function readApplication(name: string, given: unknown, file: string): Application {
  const refuse = (problem: string): never => {
    throw wrong(file, `${name}: ${problem}`);
  };
  if (!isRecord(given)) return refuse(`must have "command", found ${show(given)}`);
  const unknown = Object.keys(given).find((key) => !KNOWN.includes(key));
  if (unknown !== undefined) refuse(`"${unknown}" is unknown, known: ${KNOWN.join(', ')}`);
  const { command, home, state, window, environment = {}, network = false, files = [] } = given;
  if (!isCommand(command)) refuse(`"command" must be a list, program first, found ${show(command)}`);
  if (state !== undefined && !isCommand(state))
    refuse(`"state" must be a list, program first, found ${show(state)}`);
  if (window !== undefined && typeof window !== 'string')
    refuse(`"window" must be part of a title, found ${show(window)}`);
  if (!isRecord(environment) || Object.values(environment).some((value) => typeof value !== 'string'))
    refuse(`"environment" must map variables to texts, found ${show(environment)}`);
  if (typeof network !== 'boolean') refuse(`"network" must be true or false, found ${show(network)}`);
  if (!Array.isArray(files) || files.some((path) => typeof path !== 'string'))
    refuse(`"files" must be a list of files and folders, found ${show(files)}`);
  return {
    command: command as string[],
    home: home === undefined ? undefined : folderOf(home, file, refuse),
    state: state as string[] | undefined,
    window: window as string | undefined,
    environment: environment as Record<string, string>,
    network: network as boolean,
    files: (files as string[]).map((path) => fileOf(path, file, refuse)),
  };
}

function folderOf(home: unknown, file: string, refuse: (problem: string) => never): string {
  const folder = typeof home === 'string' ? resolve(dirname(file), home) : '';
  return existsSync(folder) ? folder : refuse(`"home" must be a folder, found ${show(home)}`);
}

function fileOf(path: string, file: string, refuse: (problem: string) => never): string {
  const found = resolve(dirname(file), path);
  return existsSync(found) ? found : refuse(`"files" names ${show(path)}, which does not exist`);
}

function isCommand(value: unknown): value is string[] {
  return (
    Array.isArray(value) && value.length > 0 && value.every((part) => typeof part === 'string' && part !== '')
  );
}

function wrong(file: string, problem: string): DesktopError {
  return new DesktopError('no_desktop', `${APPLICATIONS}=${file}: ${problem}`);
}

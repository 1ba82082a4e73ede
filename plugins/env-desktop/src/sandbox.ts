import { join } from 'node:path';

/** What programs find of the machine, read-only: the system's own folders, none of which holds what a service keeps. */
const SYSTEM = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/etc',
  '/opt',
  '/nix',
  '/run/current-system',
  '/run/systemd/resolve',
  '/var/cache/fontconfig',
];

export interface SandboxOptions {
  /** Folder of the desktop, with `home`, `tmp` and `run` in it, which the program may change. */
  folder: string;
  /** Of the display. */
  number: number;
  /** False: in a network of its own that leads nowhere. */
  network: boolean;
  /** Files and folders that it may read besides. */
  files: readonly string[];
}

/**
 * The command before that of a program which runs as the user of this process: bubblewrap (https://github.com/containers/bubblewrap), with
 * file system, processes and IPC of its own. Whatever the program starts ends with it, daemons included.
 */
export function sandboxed({ folder, number, network, files }: SandboxOptions): string[] {
  const own = ['home', 'tmp', 'run'].map((name) => join(folder, name));
  const same = (option: string, paths: readonly string[]) => paths.flatMap((path) => [option, path, path]);
  return [
    'bwrap',
    '--die-with-parent',
    '--new-session',
    '--unshare-user',
    '--unshare-pid',
    '--unshare-ipc',
    ...(network ? [] : ['--unshare-net']),
    ...same('--ro-bind-try', SYSTEM),
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    '--tmpfs',
    '/tmp',
    '--tmpfs',
    '/var/tmp',
    ...same('--ro-bind', [folder]),
    ...same('--bind', own),
    ...same('--ro-bind-try', [`/tmp/.X11-unix/X${number}`, ...files]),
    '--chdir',
    own[0],
    '--',
  ];
}

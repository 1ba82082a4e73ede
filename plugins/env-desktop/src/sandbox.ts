import { join } from 'node:path';

/** System folders that programs see, read-only; none of them contains files of a service. */
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
  /** Folder of the desktop with `home`, `tmp` and `run`, writable for the program. */
  folder: string;
  /** Display number. */
  number: number;
  /** False for its own network namespace without routes. */
  network: boolean;
  /** Additional files and folders that it may read. */
  files: readonly string[];
}

/**
 * The command prefix for a program that runs as the user of this process: bubblewrap
 * (https://github.com/containers/bubblewrap), with its own file system, process and IPC namespaces. All processes of
 * the program end with it, daemons included.
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

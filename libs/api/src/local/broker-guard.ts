import { spawn, type ChildProcess } from 'node:child_process';

/**
 * Reads process ids of a broker, the newest last, until the pipe closes. Only the command holds the other end, so the
 * pipe closes however the command ends, including SIGKILL. Services notice the end themselves and get two seconds to
 * disconnect first. The guard checks the command line of the process before it kills, because the system may have
 * reused the process id.
 *
 * $1: the broker's configuration, $2: the file that contains its password, $3: a folder to remove, or nothing
 */
const GUARD = `
trap '' HUP INT TERM
while read -r line; do broker=$line; done
rm -f "$2"
sleep 2
commandLine() { tr '\\0' ' ' < "/proc/$1/cmdline" 2>/dev/null || ps -o command= -p "$1" 2>/dev/null; }
isBroker() { case "$(commandLine "$broker")" in *"$config"*) return 0;; *) return 1;; esac; }
config=$1
if [ -n "$broker" ] && isBroker; then
  kill "$broker"
  for _ in 1 2 3 4 5 6 7 8 9 10; do isBroker || break; sleep 1; done
  if isBroker; then kill -9 "$broker"; fi
fi
if [ -n "$3" ]; then rm -rf "$3"; fi
`;

export interface Guarded {
  /** Path of the broker's configuration, which its command line contains. */
  configFile: string;
  /** Removed immediately, because it contains a password. */
  contextFile: string;
  /** Removed at the end, if its content does not outlive the command. */
  temporaryDir?: string | undefined;
}

/** Stops a broker whose command was killed, and cleans up in place of the command. */
export class BrokerGuard {
  private readonly process: ChildProcess;

  constructor({ configFile, contextFile, temporaryDir = '' }: Guarded) {
    this.process = spawn('sh', ['-c', GUARD, 'ui-rl-broker-guard', configFile, contextFile, temporaryDir], {
      stdio: ['pipe', 'ignore', 'ignore'],
      // A signal to the command's group must not reach the guard.
      detached: true,
      cwd: '/',
    });
    // Without a guard, everything but the clean-up after SIGKILL still works.
    this.process.on('error', () => undefined);
    this.process.stdin!.on('error', () => undefined);
    this.process.unref();
    (this.process.stdin as unknown as { unref(): void }).unref();
  }

  /** Tells the guard the broker's current process id. */
  watch(pid: number): void {
    this.process.stdin!.write(`${pid}\n`);
  }

  /** The broker has stopped normally. */
  dismiss(): void {
    this.process.kill('SIGKILL');
  }
}

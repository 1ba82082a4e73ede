import { spawn, type ChildProcess } from 'node:child_process';

/**
 * Reads process ids of a broker, the newest last, until the pipe closes: its other end is held by the command alone, so that it closes however
 * the command ends, SIGKILL included. Services notice that by themselves and get two seconds to leave the broker first. The process is asked
 * for its command line, since its number may be another one's by then.
 *
 * $1: the broker's configuration, $2: the file that tells its password, $3: a folder to remove, or nothing
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
  /** Path of the broker's configuration, which its command line names. */
  configFile: string;
  /** Removed at once, since it tells a password. */
  contextFile: string;
  /** Removed at the end, where nothing in it outlives the command. */
  temporaryDir?: string | undefined;
}

/** Ends a broker whose command was killed, and removes what the command would have removed. */
export class BrokerGuard {
  private readonly process: ChildProcess;

  constructor({ configFile, contextFile, temporaryDir = '' }: Guarded) {
    this.process = spawn('sh', ['-c', GUARD, 'ui-rl-broker-guard', configFile, contextFile, temporaryDir], {
      stdio: ['pipe', 'ignore', 'ignore'],
      // Whatever ends the command's group is to leave it alone.
      detached: true,
      cwd: '/',
    });
    // A guard that is gone takes nothing away but its help.
    this.process.on('error', () => undefined);
    this.process.stdin!.on('error', () => undefined);
    this.process.unref();
    (this.process.stdin as unknown as { unref(): void }).unref();
  }

  /** Tells which process the broker is now. */
  watch(pid: number): void {
    this.process.stdin!.write(`${pid}\n`);
  }

  /** The broker has ended in order. */
  dismiss(): void {
    this.process.kill('SIGKILL');
  }
}

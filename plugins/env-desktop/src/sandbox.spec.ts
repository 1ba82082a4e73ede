import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { show, type ShowOptions } from './application';

const SCRIPT = join(__dirname, '../test/as-user.ts');
const RUNNER = join(__dirname, '../../../libs/testkit/run-ts.cjs');

/** Runs the attack as an unprivileged user. */
async function attack(confinement: 'on' | 'off'): Promise<unknown> {
  // A folder that all users can write to.
  const env = { ...process.env, TMPDIR: '/tmp' };
  const { stdout } = await promisify(execFile)(process.execPath, [RUNNER, SCRIPT, confinement], { env });
  return JSON.parse(stdout);
}

/** Process ids of the attacker's background processes. */
function daemons(): number[] {
  return readdirSync('/proc').flatMap((pid) => {
    try {
      const isOne = readFileSync(`/proc/${pid}/cmdline`, 'latin1') === 'sleep\x0054321\0';
      return isOne ? [Number(pid)] : [];
    } catch {
      return [];
    }
  });
}

afterEach(() => {
  for (const pid of daemons()) process.kill(pid, 'SIGKILL');
});

describe('a program of a service that is an ordinary user', () => {
  it('reads no file of that user but those of its entry, signals no process, and leaves no daemon', async () => {
    expect(await attack('on')).toEqual({ signals: 0, state: { secret: '', app: 'mine' }, traces: [] });
    expect(daemons()).toEqual([]);
  });

  it('does all of that with DESKTOP_CONFINEMENT=off', async () => {
    expect(await attack('off')).toMatchObject({ signals: 1, state: { secret: 'hush', app: 'mine' } });
    expect(daemons()).toHaveLength(1);
  });

  it('does not start where there is no sandbox', () => {
    const options = {
      spec: { name: 'notes', shown: { application: { network: true } } },
      kernel: { confinement: false, network: true, namespaces: false },
      confines: true,
    };
    expect(() => show(options as unknown as ShowOptions)).toThrow(
      /notes would run as the user of this service.* install bubblewrap .* DESKTOP_CONFINEMENT=off/,
    );
  });
});

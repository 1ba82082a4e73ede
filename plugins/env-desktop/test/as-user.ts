import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Lab, tracesOf, until, value } from './support';

/** Id of Debian's account `nobody`, which has no privileges. */
const UNPRIVILEGED = 65_534;

/**
 * Runs, as an unprivileged user, a program that reads a file which only this user may read, signals this process and
 * leaves a daemon behind. Prints as JSON what it achieved, or how the episode failed. Argument: the value of
 * DESKTOP_CONFINEMENT.
 */
async function main(confinement: string): Promise<void> {
  // Imported while this process may still read them at any location.
  await Promise.all([import('x11'), import('sharp')]);
  if (process.getuid?.() === 0) {
    process.setgroups!([]);
    process.setgid!(UNPRIVILEGED);
    process.setuid!(UNPRIVILEGED);
  }
  let signals = 0;
  process.on('SIGUSR1', () => (signals += 1));
  const lab = new Lab();
  const secret = join(lab.folder, 'secret');
  writeFileSync(secret, 'hush', { mode: 0o600 });
  writeFileSync(join(lab.folder, 'app'), 'mine');
  const attack = [
    `cat ${secret} > secret.txt; cat ${join(lab.folder, 'app')} > app.txt`,
    `kill -USR1 ${process.pid}`,
    'setsid -f env -i sleep 54321',
    'touch done; sleep 1000',
  ];
  const state = ['sh', '-c', 'printf \'{"secret":"%s","app":"%s"}\' "$(cat secret.txt)" "$(cat app.txt)"'];
  lab.variables = { DESKTOP_CONFINEMENT: confinement };
  await lab.start({
    attacker: { command: ['xterm', '-e', attack.join('; ')], state, files: ['./app'] },
  });
  const opened = await lab.open({ application: 'attacker' });
  if (!opened.ok) return console.log(JSON.stringify({ error: opened.error }));
  const [seat] = lab.seats;
  await until(() => existsSync(join(seat.home, 'done')));
  const closed = value(await lab.sessions.closeSession(opened.value.sessionId));
  console.log(JSON.stringify({ signals, state: closed.state, traces: tracesOf(seat) }));
  await lab.stop();
}

void main(process.argv[2]);

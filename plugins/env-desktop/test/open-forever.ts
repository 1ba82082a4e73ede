import { Lab } from './support';

/** A process that opens a desktop, prints which, and runs until it is killed. */
async function main(): Promise<void> {
  const lab = new Lab();
  await lab.start({ shell: { command: ['xterm', '-e', 'cat'] } });
  await lab.play({ application: 'shell' });
  const [{ number, owner, user }] = lab.seats;
  console.log(JSON.stringify({ number, owner, user }));
  setInterval(() => undefined, 1_000);
}

void main();

import { Lab } from './support';

/** A process that opens a desktop, says which, and goes on until somebody kills it. */
async function main(): Promise<void> {
  const lab = new Lab();
  await lab.start({ shell: { command: ['xterm', '-e', 'cat'] } });
  await lab.play({ application: 'shell' });
  const [{ number, owner, user }] = lab.seats;
  console.log(JSON.stringify({ number, owner, user }));
  setInterval(() => undefined, 1_000);
}

void main();

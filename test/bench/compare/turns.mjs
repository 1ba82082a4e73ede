import { createServer } from 'node:net';
import { createInterface } from 'node:readline';

/**
 * Lets two processes alternate: each asks before it measures a function, and waits until the other has asked for the
 * same; then one measures, then the other, then both continue. The first one changes with every round.
 */
export class Turns {
  /** Results: call of `alternate` → function → side → value of each round. */
  found = [];
  #server;
  #sockets = new Set();
  /** Pending requests, at most one per side. */
  #asked = [];
  /** Sides that have sent their value. */
  #measured = [];

  static async listen(path) {
    const turns = new Turns();
    turns.#server = createServer((socket) => turns.#serve(socket));
    await new Promise((resolve, reject) => turns.#server.once('error', reject).listen(path, resolve));
    return turns;
  }

  close() {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #serve(socket) {
    this.#sockets.add(socket);
    socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket));
    let turn;
    createInterface({ input: socket }).on('line', (line) => {
      const message = JSON.parse(line);
      if (message.value === undefined) {
        turn = { ...message, goOn: () => socket.write('\n') };
        this.#ask(turn);
      } else {
        this.#tell(turn, message.value);
      }
    });
  }

  #ask(turn) {
    this.#asked.push(turn);
    if (this.#asked.length < 2) return;
    const [one, other] = this.#asked;
    if (one.call !== other.call || one.thing !== other.thing || one.round !== other.round)
      throw new Error('the two commits do not measure the same things in the same order');
    this.#next().goOn();
  }

  /** The next side, when both have asked. */
  #next() {
    const first = this.#asked[0].round % 2;
    const side = this.#measured.length === 0 ? first : 1 - first;
    return this.#asked.find((turn) => turn.side === side);
  }

  #tell(turn, value) {
    (((this.found[turn.call] ??= [])[turn.thing] ??= [[], []])[turn.side] ??= [])[turn.round] = value;
    this.#measured.push(turn);
    if (this.#measured.length < 2) return this.#next().goOn();
    const both = this.#measured;
    this.#asked = [];
    this.#measured = [];
    for (const { goOn } of both) goOn();
  }
}

// Preloaded into the bench of both commits (`node --require`): its `alternate` then measures on request of the server
// at $UI_RL_TURNS, and reports the results. So two warm processes alternate within seconds, and other load on the
// machine affects both alike. It relies on a property of every version of the bench: a module `measure` that exports
// `alternate`.
const Module = require('node:module');
const { connect } = require('node:net');
const { basename } = require('node:path');
const { createInterface } = require('node:readline');

const { UI_RL_TURNS: address, UI_RL_TURNS_SIDE: side, UI_RL_TURNS_ROUNDS: rounds } = process.env;

/** Calls of `alternate` in this process. */
let calls = 0;

/** Replaces the bench's own: as many rounds as requested here, each function when it is its turn. */
async function alternateInTurn(_rounds, things) {
  const call = calls++;
  const results = things.map(() => []);
  const socket = connect(address);
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
  const answered = async (message) => {
    socket.write(`${JSON.stringify(message)}\n`);
    if ((await lines.next()).done) throw new Error('whoever gives turns has gone');
  };
  for (let round = 0; round < Number(rounds); round += 1) {
    for (const [thing, measure] of things.entries()) {
      await answered({ side: Number(side), call, thing, round });
      const value = await measure();
      results[thing].push(value);
      await answered({ value });
    }
  }
  socket.end();
  return results;
}

const required = Module.prototype.require;
Module.prototype.require = function (id) {
  const loaded = required.call(this, id);
  if (basename(id, '.js') === 'measure' && typeof loaded.alternate === 'function')
    loaded.alternate = alternateInTurn;
  return loaded;
};

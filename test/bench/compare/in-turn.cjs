// Loaded into the bench of both commits (`node --require`): what its `alternate` measures, it measures when it is told to by whoever
// listens at $UI_RL_TURNS, and tells what it found. So two processes that are warm take turns within seconds, and whatever slows the
// machine meets both. It relies on what every version of the bench has: a module `measure` that exports `alternate`.
const Module = require('node:module');
const { connect } = require('node:net');
const { basename } = require('node:path');
const { createInterface } = require('node:readline');

const { UI_RL_TURNS: address, UI_RL_TURNS_SIDE: side, UI_RL_TURNS_ROUNDS: rounds } = process.env;

/** How often `alternate` was called in this process. */
let calls = 0;

/** In place of the bench's own: as many rounds as are asked for here, each thing when its turn has come. */
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

// Rewards the brightness of the last screen, and slightly every turn that had an effect.
const { inflateSync } = require('node:zlib');

/** Mean of the bytes of an unfiltered 8-bit PNG, from 0 to 1. */
function brightness(png) {
  const parts = [];
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const bytes = inflateSync(Buffer.concat(parts));
  return bytes.reduce((sum, byte) => sum + byte, 0) / bytes.length / 255;
}

module.exports.default = {
  kind: 'reward',
  name: 'brightness',
  description: 'looks at the last screenshot, and pays every turn that acted',
  options: { per_turn: { type: 'number', default: 0.01, description: 'paid for a turn with an action' } },
  create: ({ per_turn: perTurn }) => ({
    async score({ turns, finalObservation }) {
      const png = Buffer.from(await finalObservation.png());
      return {
        episode: { brightness: brightness(png) },
        turns: turns.map(({ actions }) => ({ acted: actions.length > 0 ? perTurn : 0 })),
      };
    },
  }),
};

// Coordinates on a grid that is the same for every screen; each answer is two actions: move the pointer, then click.
const ANSWER = /"x":(\d+),"y":(\d+)/;

module.exports.default = {
  kind: 'action-dialect',
  name: 'grid',
  description: 'normalized coordinates; an answer moves the pointer and presses',
  options: {
    size: { type: 'integer', default: 1000, atLeast: 2, description: 'cells of the grid per axis' },
  },
  create: ({ size }) => ({
    name: 'grid',
    parse(text, { screenshot }) {
      if (text.includes('"finish"')) return { ok: true, actions: [{ action: 'finish', success: true }] };
      const found = ANSWER.exec(text);
      if (found === null) {
        const span = { start: 0, end: text.length, text };
        return { ok: false, reason: 'no_action', span, correction: 'Answer with a place: "x":500,"y":500.' };
      }
      const pixel = (cell, pixels) => Math.min(pixels - 1, Math.floor((Number(cell) * pixels) / size));
      const place = { x: pixel(found[1], screenshot.width), y: pixel(found[2], screenshot.height) };
      return {
        ok: true,
        actions: [
          { action: 'move', ...place },
          { action: 'click', ...place },
        ],
      };
    },
    format(actions, { screenshot }) {
      const { x, y } = actions.at(-1);
      const cell = (pixel, pixels) => Math.round((pixel * size) / pixels);
      return `"x":${cell(x, screenshot.width)},"y":${cell(y, screenshot.height)}`;
    },
    describe: () => `Answer with a place on a grid of ${size} by ${size} cells: "x":500,"y":500.`,
  }),
};

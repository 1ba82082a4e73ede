const NAMES = ['Alarm', 'Carl', 'Dora', 'Emma', 'Fire', 'River'];
const TILE = { top: 16, width: 80, height: 64, inset: 4 };

/** Six tiles with names, each in its place. The first click counts. */
const named = () => {
  let tapped = '';
  return {
    draw(drawing) {
      drawing.clear();
      NAMES.forEach((name, index) => {
        const left = TILE.width * (index % 2);
        const top = TILE.top + TILE.height * Math.floor(index / 2);
        const { inset } = TILE;
        drawing.rect(left + inset, top + inset, TILE.width - 2 * inset, TILE.height - 2 * inset, '#e5e7eb');
        drawing.write(name, left + 8, top + 26);
      });
    },
    click(x, y) {
      const name = NAMES[2 * Math.floor((y - TILE.top) / TILE.height) + Math.floor(x / TILE.width)];
      tapped ||= name ?? 'nothing';
    },
    state: () => ({ tapped }),
    done: () => tapped !== '',
  };
};

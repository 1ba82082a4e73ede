/** Letters as strokes of a 2×2 pen; a point is x and y in base 16. Those of the demo phone that are needed. */
// prettier-ignore
const STROKES = {
  A: '09 02 20 30 52 59,05 55', B: '40 00 09 49 58 55 44 04,40 51 53 44', C: '52 51 40 10 01 08 19 49 58 57',
  D: '00 30 52 57 39 09 00', E: '50 00 09 59,04 44', F: '50 00 09,04 44', L: '00 09 49', M: '09 00 33 60 69',
  R: '09 00 40 51 53 44 04,24 59', S: '51 40 10 01 03 14 44 55 58 49 19 08', V: '00 05 29 39 55 50',
  a: '43 49 19 08 04 13 43', e: '06 46 44 33 13 04 08 19 49', i: '03 09,00', k: '00 09,43 16 49', l: '00 08 19',
  m: '09 03 53 64 69,33 39', n: '09 03 33 44 49', o: '13 33 44 48 39 19 08 04 13', r: '09 03 33',
  v: '03 06 29 46 43', w: '03 09 69 63,35 39', x: '03 49,43 09', y: '03 08 19 49,43 4b 3c 0c',
};

/** Draws pixel by pixel, so that a screenshot depends on nothing but the state. */
class Drawing {
  constructor(context) {
    this.context = context;
  }

  rect(x, y, width, height, color) {
    this.context.fillStyle = color;
    this.context.fillRect(x, y, width, height);
  }

  clear() {
    this.rect(0, 0, 160, 224, '#fff');
  }

  /** @returns the width */
  write(text, x, y, color = '#111') {
    for (const char of text) {
      const lines = STROKES[char].split(',').map((line) => line.split(' '));
      const points = lines.map((line) => line.map((at) => [...at].map((digit) => parseInt(digit, 16))));
      for (const line of points) this.stroke(line, x, y, color);
      x += Math.max(...points.flat().map(([across]) => across)) + 3;
    }
  }

  stroke(points, left, top, color) {
    let [x, y] = points[0];
    this.rect(left + x, top + y, 2, 2, color);
    for (const [toX, toY] of points.slice(1)) {
      const length = Math.max(Math.abs(toX - x), Math.abs(toY - y), 1);
      for (let i = 1; i <= length; i += 1) {
        const across = Math.round(((toX - x) * i) / length);
        const down = Math.round(((toY - y) * i) / length);
        this.rect(left + x + across, top + y + down, 2, 2, color);
      }
      [x, y] = [toX, toY];
    }
  }
}

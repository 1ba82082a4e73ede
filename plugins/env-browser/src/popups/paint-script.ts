/**
 * A function of a size in CSS pixels, picture pixels per CSS pixel, and paint operations; returns a PNG in base64.
 * Draws with the fonts of the document it runs in, without changing the document.
 */
export const PAINT = `(size, scale, ops) => {
  // Not an OffscreenCanvas, whose picture Chromium makes when it has nothing else to do, up to a second later.
  const canvas = document.createElement('canvas');
  canvas.width = Math.round(size.width * scale);
  canvas.height = Math.round(size.height * scale);
  const context = canvas.getContext('2d', { alpha: false, willReadFrequently: true });
  context.scale(canvas.width / size.width, canvas.height / size.height);
  context.textBaseline = 'middle';
  const clip = (box) => {
    context.restore();
    context.save();
    if (box === null) return;
    context.beginPath();
    context.rect(box.x, box.y, box.width, box.height);
    context.clip();
  };
  const ramp = ({ box, colors, isVertical }) => {
    const gradient = context.createLinearGradient(box.x, box.y, isVertical ? box.x : box.x + box.width, isVertical ? box.y + box.height : box.y);
    colors.forEach((color, index) => gradient.addColorStop(index / (colors.length - 1), color));
    context.fillStyle = gradient;
    context.fillRect(box.x, box.y, box.width, box.height);
  };
  const text = ({ text, at, font, color, align, width }) => {
    context.font = font;
    context.fillStyle = color;
    context.textAlign = align;
    // A canvas would squeeze what is too wide.
    let shown = text;
    while (width !== undefined && shown.length > 1 && context.measureText(shown).width > width + 1) shown = shown.slice(0, -1);
    context.fillText(shown, at[0], at[1]);
  };
  const path = (points) => {
    context.beginPath();
    points.forEach(([x, y], index) => (index === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
  };
  const disc = ({ at, radius, color, border }) => {
    context.beginPath();
    context.arc(at[0], at[1], radius, 0, 2 * Math.PI);
    context.fillStyle = color;
    context.fill();
    if (border === undefined) return;
    context.strokeStyle = border;
    context.lineWidth = 2;
    context.stroke();
  };
  context.save();
  for (const each of ops) {
    const { op, box, color } = each;
    context.lineWidth = 1;
    context.strokeStyle = context.fillStyle = color ?? '#000';
    if (op === 'fill') context.fillRect(box.x, box.y, box.width, box.height);
    else if (op === 'frame') context.strokeRect(box.x + 0.5, box.y + 0.5, box.width - 1, box.height - 1);
    else if (op === 'text') text(each);
    else if (op === 'ramp') ramp(each);
    else if (op === 'disc') disc(each);
    else if (op === 'line') { path(each.points); context.stroke(); }
    else if (op === 'clip') clip(box);
  }
  return canvas.toDataURL('image/png').split(',')[1];
}`;

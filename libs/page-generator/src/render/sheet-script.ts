import { TRUTH } from './truth-script';

/**
 * Functions of the page that contains a sheet, as text, so that no tool instruments them. Frames are reused between
 * sheets: opening one takes longer than everything else.
 */
const FRAMES = `
  globalThis.sheetFrames ??= [];
  const openFrame = () => new Promise((resolve) => {
    const frame = document.createElement('iframe');
    frame.sandbox = 'allow-same-origin';
    frame.onload = () => resolve(frame);
    frame.srcdoc = '<!doctype html>';
    document.body.append(frame);
  });`;

/** Shows pages at their positions, given as JSON; resolves when each is laid out with its fonts. */
export const SHOW = `async (json) => {
  const tiles = JSON.parse(json);
  ${FRAMES}
  while (sheetFrames.length < tiles.length) sheetFrames.push(await openFrame());
  sheetFrames.forEach((frame, i) => {
    if (i >= tiles.length) {
      frame.style.display = 'none';
      return;
    }
    const { html, left, top, width, height } = tiles[i];
    frame.style.cssText = 'left:' + left + 'px;top:' + top + 'px;width:' + width + 'px;height:' + height + 'px';
    frame.contentDocument.documentElement.innerHTML = html;
  });
  const documents = sheetFrames.slice(0, tiles.length).map((frame) => frame.contentDocument);
  await Promise.all(documents.flatMap((each) => [...each.querySelectorAll('link')]).map((link) => link.sheet !== null ? null
    : new Promise((resolve) => { link.onload = link.onerror = resolve; })));
  for (const each of documents) each.body.getBoundingClientRect();
  await Promise.all(documents.map((each) => each.fonts.ready));
  await new Promise((resolve) => requestAnimationFrame(() => resolve()));
}`;

/** The ground truth of each of the first pages of a sheet, as JSON, which transfers faster than objects. */
export const TRUTHS = `(count) => {
  const truthOf = ${TRUTH};
  return JSON.stringify(sheetFrames.slice(0, count).map((frame) => truthOf(frame.contentDocument)));
}`;

import { createHash } from 'node:crypto';
import { escapeHtml, type Action, type Point, type Screenshot } from '@ui-rl/plugin-kit';
import { pageText } from './page-text';

const STYLE = `
:root{color-scheme:light dark;font:14px/1.5 system-ui,sans-serif}body{max-width:70rem;margin:1rem auto;padding:0 1rem}
section{margin:.6rem 0}img{max-width:100%;max-height:75vh;border:1px solid #8886}h1{font-size:1.2rem}
nav{display:none;gap:.6rem;align-items:center}.player nav{display:flex}nav input{flex:1}.player section{display:none}.player section.on{display:block}
#stage{position:relative;display:inline-block}#mark{display:none;position:absolute;width:22px;height:22px;margin:-12px;border:2px solid #d00;border-radius:50%;box-shadow:0 0 0 2px #fff}`;

const PLAYER = `
addEventListener('DOMContentLoaded', () => {
  const parts = [...document.querySelectorAll('section')];
  if (parts.length === 0) return;
  const [slider, button, stage, mark] = ['slider', 'play', 'stage', 'mark'].map((id) => document.getElementById(id));
  const big = document.getElementById('big');
  let timer;
  document.body.classList.add('player');
  parts.forEach((part) => part.querySelectorAll('img').forEach((image) => { part.picture = image.src; image.remove(); }));
  slider.max = parts.length - 1;
  const show = (at) => {
    slider.value = at;
    parts.forEach((part, index) => part.classList.toggle('on', index === at));
    for (let index = at; index >= 0; index--) if (parts[index].picture) { if (big.src !== parts[index].picture) big.src = parts[index].picture; break; }
    const { x, y } = parts[at].dataset;
    mark.style.display = x === undefined ? 'none' : 'block';
    if (x !== undefined) { mark.style.left = x + '%'; mark.style.top = y + '%'; }
  };
  const next = () => {
    const at = Number(slider.value) + 1;
    if (at >= parts.length) return stop();
    show(at);
    const wait = at + 1 < parts.length ? parts[at + 1].dataset.at - parts[at].dataset.at : 0;
    timer = setTimeout(next, Math.min(1500, Math.max(parts[at].picture ? 60 : 700, wait)));
  };
  const stop = () => { clearTimeout(timer); timer = undefined; button.textContent = '▶'; };
  button.onclick = () => {
    if (timer !== undefined) return stop();
    button.textContent = '❚❚';
    if (Number(slider.value) === parts.length - 1) show(0);
    timer = setTimeout(next, 300);
  };
  slider.oninput = () => { stop(); show(Number(slider.value)); };
  show(0);
});`;

/**
 * The head of a recording: a page that plays the following pictures in order, and shows all of them without
 * JavaScript.
 */
export function beginning(title: string, about: string): string {
  const hash = createHash('sha256').update(PLAYER).digest('base64');
  const policy = `default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-${hash}'`;
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width"><title>${escaped(title)}</title>
<style>${STYLE}</style><script>${PLAYER}</script>
<h1>${escaped(title)}</h1><p>${escaped(about)}</p>
<nav><button id="play">▶</button><input id="slider" type="range" value="0"></nav><div id="stage"><img id="big" alt=""><i id="mark"></i></div>
`;
}

/** @param atMs time since the start of the recording */
export function picture(atMs: number, type: 'png' | 'jpeg', base64: string): string {
  return `<section data-at="${Math.round(atMs)}"><img alt="" src="data:image/${type};base64,${base64}"></section>\n`;
}

/** An action and its position. Typed text is omitted: the screenshot shows its visible part. */
export function actionPart(atMs: number, action: Action, { width, height }: Screenshot): string {
  const point = pointOf(action);
  const percent = (value: number, size: number) => ((100 * (value + 0.5)) / size).toFixed(2);
  const at =
    point === null ? '' : ` data-x="${percent(point[0], width)}" data-y="${percent(point[1], height)}"`;
  return `<section data-at="${Math.round(atMs)}"${at}><strong>${escaped(wordsOf(action))}</strong></section>\n`;
}

export function note(atMs: number, text: string): string {
  return `<section data-at="${Math.round(atMs)}"><em>${escaped(text)}</em></section>\n`;
}

function pointOf(action: Action): Point | null {
  if ('from' in action) return action.from;
  return 'x' in action && action.x !== undefined && action.y !== undefined ? [action.x, action.y] : null;
}

function wordsOf(action: Action): string {
  if (action.action === 'type') return `type ${action.text.length} characters`;
  const typed = (key: string) => (/^.$/u.test(key) ? '□' : key);
  // A single character is text; a key combination is a command.
  if (action.action === 'key')
    return `key ${(action.keys.length === 1 ? action.keys.map(typed) : action.keys).join(' + ')}${action.seconds === undefined ? '' : ` for ${action.seconds} s`}`;
  if ('key' in action) return `${action.action} ${typed(action.key)}`;
  const { action: name, ...rest } = action;
  return `${name} ${JSON.stringify(rest)}`;
}

function escaped(text: string): string {
  return escapeHtml(pageText(text, 2_000));
}

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * The documented interface of MiniWoB++'s pages (docs/content/javascript_api.md there), as far as these pages need
 * it.
 */
const CORE = `
var core = { EPISODE_MAX_TIME: 300, EP_TIMER: null };
var WOB_REWARD_GLOBAL = 0, WOB_RAW_REWARD_GLOBAL = 0, WOB_REWARD_REASON = null, WOB_DONE_GLOBAL = false, WOB_TASK_READY = true;
var WOB_DATA_MODE = 'default';
Math.seedrandom = (seed) => {
  let state = 0;
  for (const c of String(seed)) state = (Math.imul(state, 31) + c.charCodeAt(0)) | 0;
  Math.random = () => {
    state = (state + 0x6d2b79f5) | 0;
    const mixed = Math.imul(state ^ (state >>> 15), state | 1);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
};
core.setDataMode = (mode) => { WOB_DATA_MODE = mode; };
core.getUtterance = () => document.getElementById('query').textContent.replace(/\\s+/g, ' ').trim();
core.draw = (id, style, text) => {
  const made = document.getElementById(id) || document.body.appendChild(document.createElement('div'));
  made.id = id; made.style = 'position: absolute; ' + style; made.textContent = text;
  return made;
};
core.startEpisode = () => {
  core.draw('reward-display', 'left: 165px; top: 0', 'Last reward: ' + WOB_REWARD_GLOBAL);
  core.draw('click-canvas', 'left: 10px; top: 190px; width: 9px; height: 9px; background: blue', '');
  core.draw('sync-task-cover', 'left: 0; top: 0; width: 160px; height: 210px; background: #ddd', 'START').onclick = () => core.startEpisodeReal();
};
core.startEpisodeReal = () => {
  genProblem();
  WOB_DONE_GLOBAL = false;
  WOB_REWARD_GLOBAL = WOB_RAW_REWARD_GLOBAL = 0;
  WOB_REWARD_REASON = null;
  document.getElementById('sync-task-cover').style.display = 'none';
  core.begun = Date.now();
  core.EP_TIMER = setTimeout(() => core.endEpisode(-1, false, 'timed out'), core.EPISODE_MAX_TIME);
};
core.endEpisode = (reward, timeProportional, reason) => {
  if (core.EP_TIMER === null) return;
  clearTimeout(core.EP_TIMER);
  core.EP_TIMER = null;
  WOB_RAW_REWARD_GLOBAL = reward;
  WOB_REWARD_REASON = reason;
  WOB_REWARD_GLOBAL = timeProportional ? reward * Math.max(0, 1 - (Date.now() - core.begun) / core.EPISODE_MAX_TIME) : reward;
  WOB_DONE_GLOBAL = true;
  core.startEpisode();
};
`;

const page = (
  script: string,
  area = '',
) => `<!doctype html><html><head><script src="../core/core.js"></script>
<style>body { margin: 0; background: #555 } #wrap { width: 160px; height: 210px; background: white }
#query { height: 44px; padding: 3px; background: yellow; font-size: 10px }
#area button { display: block; width: 160px; height: 40px; margin: 0 }</style>
<script>${script}
window.onload = () => core.startEpisode();</script></head>
<body><div id="wrap"><div id="query"></div><div id="area">${area}</div></div></body></html>`;

const BUTTONS = `const draw = (labels, onclick) => {
  document.getElementById('area').replaceChildren(...labels.map((label, i) => {
    const button = document.createElement('button');
    button.textContent = label;
    button.onclick = () => onclick(i);
    return button;
  }));
};
const ask = (text) => { document.getElementById('query').innerHTML = text; };`;

const PAGES: Record<string, string> = {
  // Three buttons of 40 pixels from y = 50 on; the seed chooses the target.
  'click-button': page(`${BUTTONS}
    var genProblem = () => {
      const wanted = Math.floor(Math.random() * 3);
      ask('Click  <b>button ' + wanted + '</b>. ' + WOB_DATA_MODE);
      draw(['0', '1', '2'], (i) => core.endEpisode(i === wanted ? 1 : -1, true, 'button ' + i));
    };`),
  // Partial credit: half for the first button.
  'click-checkboxes': page(`${BUTTONS}
    var genProblem = () => { ask('Click'); draw(['half', 'all', 'none'], (i) => core.endEpisode([0.5, 1, 0][i], false, null)); };`),
  // Becomes ready with a delay, has its utterance in fields, and navigates away by a link.
  'click-link': page(
    `var genProblem = () => { WOB_TASK_READY = false; setTimeout(() => { document.getElementById('query').textContent = 'later'; WOB_TASK_READY = true; }, 50); };
    core.getUtterance = () => ({ utterance: 'Click ' + document.getElementById('query').textContent, fields: { target: 'x' } });`,
    `<a href="click-button.html" style="display: block; width: 160px; height: 100px">away</a>`,
  ),
  // A jQuery-style animation, which actions wait for.
  'click-test': page(`${BUTTONS}
    window.jQuery = { timers: [] };
    var genProblem = () => { ask('Click'); draw(['fade'], () => {
      window.jQuery.timers.push(1);
      setTimeout(() => { window.jQuery.timers.pop(); document.querySelector('button').style.background = 'red'; }, 150);
    }); };`),
};

/** Writes pages that follow the protocol, in the layout of a MiniWoB++ checkout; returns the checkout folder. */
export function writeCheckout(folder: string): string {
  const files = {
    'core/core.js': CORE,
    ...Object.fromEntries(Object.entries(PAGES).map(([name, html]) => [`miniwob/${name}.html`, html])),
  };
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, 'miniwob/html', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return folder;
}

import type { Trajectory, Turn } from '@ui-rl/contracts';
import { escapeHtml } from '@ui-rl/plugin-kit';

export interface LoggedGroup {
  runId: string;
  step: number;
  /** Id of the group. */
  id: string;
  episodes: readonly Trajectory[];
}

/** Path of a screenshot, relative to the page. */
export type ScreenshotPath = (sha256: string) => string | undefined;

/** A self-contained page about a group of episodes: screenshots, answers and rewards. */
export function groupPage({ runId, step, id, episodes }: LoggedGroup, pathOf: ScreenshotPath): string {
  const goal = episodes[0]?.request.task.description ?? id;
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(`${goal} · step ${step}`)}</title>
<style>${STYLE}</style>
<h1>${escapeHtml(goal)}</h1>
<p class="muted">run ${escapeHtml(runId)}, step ${step}, group ${escapeHtml(id)}: rewards ${episodes.map(({ reward }) => number(reward)).join(', ')}</p>
${episodes.map((episode) => episodeSection(episode, pathOf)).join('\n')}
</html>
`;
}

function episodeSection(episode: Trajectory, pathOf: ScreenshotPath): string {
  const { request, status, success, reward, rewards, turns, finalScreenshot } = episode;
  const parts = Object.entries(rewards).map(([name, value]) => `${name} ${number(value)}`);
  const outcome = success === null ? 'not judged' : success ? 'success' : 'failure';
  return `<section>
<h2>${escapeHtml(request.rolloutId)} <span class="${success === true ? 'good' : 'bad'}">${outcome}</span></h2>
<p class="muted">reward ${number(reward)} (${escapeHtml(parts.join(', '))}), ${escapeHtml(status)}, ${turns.length} turns</p>
<ol>
${turns.map((turn) => turnItem(turn, pathOf)).join('\n')}
${finalScreenshot === undefined ? '' : `<li>${image(finalScreenshot, pathOf)}<p class="muted">the last screen</p></li>`}
</ol>
</section>`;
}

function turnItem(turn: Turn, pathOf: ScreenshotPath): string {
  const {
    screenshot,
    text: answer,
    actions,
    parseError,
    outcome,
    reward,
    tokenIds,
    logprobs,
    policyVersion,
    screenText,
  } = turn;
  const total = logprobs.reduce((sum, logprob) => sum + logprob, 0);
  const notes = [
    parseError === undefined
      ? actions.map((action) => JSON.stringify(action)).join(' ')
      : `not read: ${parseError}`,
    outcome ?? '',
    reward === undefined ? '' : `reward ${number(reward)}`,
    `${tokenIds.length} tokens, log-probability ${number(total)}, policy ${policyVersion}`,
  ];
  const lines = notes.filter((note) => note !== '').map((note) => `<p class="muted">${escapeHtml(note)}</p>`);
  const read =
    screenText === undefined
      ? ''
      : `<details><summary>the screen as text</summary><pre>${escapeHtml(screenText)}</pre></details>`;
  return `<li>${image(screenshot, pathOf)}${read}<pre>${escapeHtml(answer)}</pre>${lines.join('')}</li>`;
}

function image(sha256: string, pathOf: ScreenshotPath): string {
  const path = pathOf(sha256);
  return path === undefined
    ? '<p class="muted">this screenshot is not stored any more</p>'
    : `<img src="${escapeHtml(path)}" alt="" loading="lazy">`;
}

function number(value: number): string {
  return String(Number(value.toFixed(3)));
}

const STYLE = `
:root{color-scheme:light dark;font:14px/1.45 system-ui,sans-serif}
body{max-width:76rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem}h2{font-size:1rem;margin:2rem 0 .2rem}
.muted{color:#777;margin:.2rem 0;overflow-wrap:anywhere}.good{color:#188038}.bad{color:#c5221f}
ol{display:flex;gap:1rem;overflow-x:auto;padding:.5rem 0;margin:0;list-style:none}
li{flex:0 0 15rem}img{max-width:100%;max-height:22rem;border:1px solid #8884;border-radius:4px}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#8881;padding:.4rem;border-radius:4px;margin:.3rem 0}`;

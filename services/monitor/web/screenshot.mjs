// Takes the pictures of the README and the guide:
//   node services/monitor/web/screenshot.mjs http://127.0.0.1:8080 <run> [path of a Chromium]
// writes pictures/*.webp beside this file: run.webp for the README, the others for the guide.
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright';

const [url, run, executablePath] = process.argv.slice(2);
if (run === undefined) {
  console.error(
    'usage: node services/monitor/web/screenshot.mjs <address of the monitor> <run> [path of a Chromium]',
  );
  process.exit(2);
}

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
const devtools = await page.context().newCDPSession(page);

async function take(path, ready, file) {
  await page.goto(`${url}/#/${path}`);
  await page.locator(ready).first().waitFor();
  await page.waitForTimeout(500);
  await writeFile(here(file), await webp());
  console.log(here(file));
}

async function webp() {
  const { data } = await devtools.send('Page.captureScreenshot', { format: 'webp', quality: 80 });
  return Buffer.from(data, 'base64');
}

const api = async (path) => (await fetch(`${url}/api/${path}`)).json();
const { episodes } = await api(`runs/${run}/episodes?success=no&purpose=train&limit=200`);
const longest = episodes.toSorted((a, b) => b.turnCount - a.turnCount).at(0);
const trained = (await api('runs?sort=steps')).filter(({ steps }) => steps > 0).map(({ id }) => id);
const others = trained.filter((id) => id !== run).slice(0, 4);
const { steps } = await api(`runs/${run}`);

await take(`runs/${run}`, '.chart canvas', 'pictures/run.webp');
await take('?columns=training.learning_rate', '.rows tbody tr', 'pictures/runs.webp');
await take(`compare/${[run, ...others].join()}`, '.chart canvas', 'pictures/compare.webp');
await take(`runs/${run}/steps/${steps}`, '.group', 'pictures/step.webp');
await take(`runs/${run}/evaluations`, '.compared', 'pictures/evaluations.webp');
if (longest !== undefined) await take(`episodes/${longest.id}`, '.overlay', 'pictures/episode.webp');
await browser.close();

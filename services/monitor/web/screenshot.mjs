// Takes the README's screenshots of a real run:
//   node services/monitor/web/screenshot.mjs http://127.0.0.1:8080 <run> [path of a Chromium]
// writes screenshot.png (the run) and episode.png (its longest success) beside this file.
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

async function take(path, ready, file) {
  await page.goto(`${url}/#/${path}`);
  await page.locator(ready).first().waitFor();
  await page.waitForTimeout(500);
  await page.screenshot({ path: here(file), fullPage: true });
  console.log(here(file));
}

const query = 'success=yes&purpose=train&limit=200';
const { episodes } = await (await fetch(`${url}/api/runs/${run}/episodes?${query}`)).json();
const longest = episodes.toSorted((a, b) => b.turnCount - a.turnCount).at(0);
await take(`runs/${run}`, '.chart canvas', 'screenshot.png');
if (longest !== undefined) await take(`episodes/${longest.id}`, '.overlay', 'episode.png');
await browser.close();

// A process that holds an open page until it is killed; prints a line once the page is open.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import browser from '../src/index';
import { BrowserOptions } from '../src/options';

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'page-'));
  writeFileSync(join(folder, 'index.html'), '<p>open');
  const environment = await browser.create(new BrowserOptions(), {
    pages: { p: folder },
    maxSessions: 1,
    programs: {},
    log: () => {},
  });
  const task = { description: 'stay', environment: { kind: 'browser', options: { page: 'p' } } };
  const deadline = { deadlineAt: Date.now() + 30_000, signal: AbortSignal.timeout(30_000) };
  const reply = await environment.open({ task, seed: 1 }, deadline);
  if (!reply.ok) throw new Error(reply.error.message);
  process.stdout.write('open\n');
}

setInterval(() => {}, 1000);
void main();

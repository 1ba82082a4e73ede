/**
 * Measures rendering: `node libs/testkit/run-ts.cjs libs/page-generator/test/speed.main.ts [pages] [rounds]`. The CPU
 * time per screen, including Chromium's, does not depend on other load on the machine.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { generatePage, PageRenderer } from '../src';

const TICKS_PER_SECOND = 100;

interface ProcessTime {
  parent: number;
  seconds: number;
}

function timeOf(pid: number): ProcessTime | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return {
      parent: Number(fields[1]),
      seconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
    };
  } catch {
    return undefined;
  }
}

/** CPU time of this process and all its descendants, in seconds. */
function processorSeconds(): number {
  const all = new Map<number, ProcessTime>();
  for (const name of readdirSync('/proc').filter((each) => /^\d+$/.test(each))) {
    const time = timeOf(Number(name));
    if (time !== undefined) all.set(Number(name), time);
  }
  const isOwn = (pid: number): boolean =>
    pid === process.pid || (all.has(pid) && isOwn(all.get(pid)!.parent));
  return [...all].reduce((sum, [pid, { seconds }]) => sum + (isOwn(pid) ? seconds : 0), 0);
}

async function main([count = '200', rounds = '3']: string[]): Promise<void> {
  const renderer = await PageRenderer.launch();
  for (let round = 0; round < Number(rounds); round++) {
    const pages = Array.from({ length: Number(count) }, (_, i) => generatePage(round * Number(count) + i));
    const [started, before] = [performance.now(), processorSeconds()];
    await renderer.renderAll(pages);
    const perSecond = (1000 * pages.length) / (performance.now() - started);
    const each = (1000 * (processorSeconds() - before)) / pages.length;
    console.log(`${perSecond.toFixed(1)} screens/s; ${each.toFixed(2)} ms of processor time per screen`);
  }
  await renderer.close();
}

void main(process.argv.slice(2));

/** Measures drawing: `node libs/testkit/run-ts.cjs libs/page-generator/test/speed.main.ts [pages] [rounds]`. */
import { generatePage, PageRenderer } from '../src';

async function main([count = '200', rounds = '3']: string[]): Promise<void> {
  const renderer = await PageRenderer.launch();
  for (let round = 0; round < Number(rounds); round++) {
    const started = performance.now();
    const pages = Array.from({ length: Number(count) }, (_, i) => generatePage(round * Number(count) + i));
    const generated = performance.now();
    await renderer.renderAll(pages);
    const rendered = performance.now();
    const perSecond = (from: number, to: number): string => ((1000 * Number(count)) / (to - from)).toFixed(1);
    console.log(`generate ${perSecond(started, generated)}/s, render ${perSecond(generated, rendered)}/s`);
  }
  await renderer.close();
}

void main(process.argv.slice(2));

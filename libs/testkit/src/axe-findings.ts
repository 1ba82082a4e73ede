import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright';

/** Findings of axe on a page, with the elements and the reasons. */
export async function axeFindings(page: Page): Promise<string[]> {
  // Loaded when it is used: most specs need no page.
  const { default: axe } = await import('axe-core');
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeResults>('axe.run()');
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ''}`),
  );
}

import type { BusService } from '@ui-rl/bus';
import { eventually, makeRollout, makeTask, makeTrajectory, makeTurn } from '@ui-rl/testkit';
import type { Page } from 'playwright';
import { type OpenPage, openPage, overflowOf, phoneScreens, VIEWPORTS } from '../test/open-page';
import { publish, publishRun, RUN } from '../test/shown-run';

/** An episode and its group: the blamed tokens, the other attempts, and their differences. */

const BLAMED = `${RUN}-g19-r3`;
const LONG = 'long-r0';
const TOKENS = 700;

let opened: OpenPage;
let bus: BusService;
let page: Page;
beforeAll(async () => {
  opened = await openPage();
  ({ bus, page } = opened);
  const screens = await phoneScreens(opened.browser);
  const hashes = await Promise.all(screens.map((png) => bus.blobs.of(RUN).put(png)));
  await publishRun(bus, opened.plugin, hashes);
  await publishLong(hashes[0]);
  await eventually('everything recorded', async () => {
    const paths = [BLAMED, LONG].map((id) => `${opened.monitor.url}/api/episodes/${id}`);
    const [blamed, long] = await Promise.all(paths.map((path) => fetch(path)));
    return long.ok && ((await blamed.json()) as { advantage?: number | null }).advantage != null;
  });
}, 240_000);
afterAll(() => opened.close());

const open = async (path: string): Promise<void> => {
  await page.goto('about:blank');
  await page.goto(`${opened.monitor.url}/#/${path}`);
};

const tokens = () => page.getByRole('listbox', { name: 'Answer of the policy' });

/** An answer of 700 tokens whose texts are recorded; no step has trained on it. */
async function publishLong(screenshot: string): Promise<void> {
  const words = Array.from({ length: TOKENS }, (_, index) => ` word${index}`);
  const turn = makeTurn({
    ...{ screenshot, text: words.join(''), tokenTexts: words },
    tokenIds: words.map((_, index) => index),
    logprobs: words.map((_, index) => -((index * 7) % 5)),
  });
  const request = makeRollout({
    rolloutId: LONG,
    groupId: 'long',
    runId: RUN,
    task: makeTask({ id: 'long' }),
  });
  await publish(bus, makeTrajectory({ request, turns: [turn] }));
}

describe('tokens of an answer', () => {
  it.each(VIEWPORTS)('are within the window of $width pixels', async (viewport) => {
    await page.setViewportSize(viewport);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const [id, colour] of [
        [BLAMED, 'push'],
        [LONG, ''],
      ]) {
        await open(`episodes/${id}?colour=${colour}`);
        await page.locator('.tokens span').first().waitFor();
        expect(await overflowOf(page)).toBe(0);
        await opened.shot(`tokens-${id === LONG ? 'long' : 'blamed'}-${viewport.width}-${colorScheme}`);
      }
    }
    await page.emulateMedia({ colorScheme: 'light' });
  });

  it('that got the blame are named, coloured and chosen by the address', async () => {
    await page.setViewportSize(VIEWPORTS[2]);
    await open(`episodes/${BLAMED}`);
    const blamed = page.locator('.most-pushed', { hasText: 'Blamed most' });
    await blamed.getByRole('button').first().waitFor();
    const [first] = await blamed.getByRole('button').allInnerTexts();
    const [, text, push] = /^(.+?)\s*−(\S+)$/.exec(first)!;
    expect(Number(push)).toBeGreaterThan(0);
    expect(await page.locator('.token-legend').innerText()).toContain('Underlined: blamed (red)');
    await page.getByLabel('Colour').selectOption('blame and credit');
    expect(page.url()).toMatch(/colour=push$/);
    await blamed.getByRole('button').first().click();
    const chosen = tokens().getByRole('option', { selected: true });
    expect((await chosen.innerText()).trim()).toBe(text);
    expect(await chosen.getAttribute('class')).toMatch(/^loses blamed/);
    const said = await page.locator('.token-legend').innerText();
    expect(said).toMatch(/advantage −0\.\d+ · trainer's log-probability −[\d.]+, ratio [\d.]+ · weight/);
    expect(said).toContain(`pushed down by ${push}`);
  });

  it('that were masked are marked, and those without text have their id', async () => {
    await open(`episodes/${BLAMED}`);
    await tokens().waitFor();
    expect(await tokens().getByRole('option').nth(2).getAttribute('class')).toContain('masked');
    await tokens().getByRole('option', { name: 'token 13' }).hover();
    expect(await page.locator('.token-legend').innerText()).toContain('14. no text (token 13)');
    await tokens().getByRole('option').nth(2).hover();
    expect(await page.locator('.token-legend').innerText()).toContain('masked: not trained on');
  });

  it('are reached by keys, without changing the frame, and pointing does not move the page', async () => {
    await open(`episodes/${BLAMED}`);
    await tokens().focus();
    const height = await page.locator('.player').evaluate((each) => each.clientHeight);
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    expect(await page.locator('.token-legend').innerText()).toMatch(/^2\. /);
    expect(await page.locator('.player .place').innerText()).toBe('Turn 1 of 3');
    expect(await page.locator('.player').evaluate((each) => each.clientHeight)).toBe(height);
  });

  it('are in a table with their numbers', async () => {
    await open(`episodes/${BLAMED}`);
    await page.getByText('Tokens as a table').click();
    const rows = page.getByRole('group', { name: 'Tokens as a table' }).locator('tbody tr');
    await rows.first().waitFor();
    expect(await rows.count()).toBe(14);
    expect(await rows.nth(1).innerText()).toMatch(
      /^2\t\S+\t1\t0\.\d+\t−[\d.]+\t−0\.\d+\t−[\d.]+\t0\.\d+\t0\.0156\t−0\.\d+$/,
    );
  });

  it('of an answer that no step trained on are coloured by their log-probability', async () => {
    await open(`episodes/${LONG}`);
    await page.getByText('No advantages are recorded for this turn.').waitFor();
    expect(await page.getByLabel('Colour').count()).toBe(0);
    const heat = (place: number) =>
      tokens()
        .getByRole('option')
        .nth(place)
        .evaluate((each) => (each as HTMLElement).style.getPropertyValue('--heat'));
    expect([await heat(0), await heat(3)]).toEqual(['0%', '17.5%']);
  });

  it('come after a prompt with its images in their places', async () => {
    await open(`episodes/${BLAMED}`);
    await page.getByText('Prompt (3 tokens)').click();
    const prompt = page.getByLabel('Text of the prompt');
    expect(await prompt.innerText()).toMatch(/^<\|im_start\|>user\n\s*Task 0<\|im_end\|>/);
    expect(await prompt.getByRole('img', { name: 'Image 1 of the prompt' }).count()).toBe(1);
  });
});

describe('groups', () => {
  const tiles = (place: number) => page.locator('.group').nth(place).locator('.tile');

  it.each(VIEWPORTS)('are strips within the window of $width pixels', async (viewport) => {
    await page.setViewportSize(viewport);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await open(`runs/${RUN}/steps/20`);
      await tiles(0).first().waitFor();
      expect(await overflowOf(page)).toBe(0);
      await opened.shot(`groups-${viewport.width}-${colorScheme}`);
    }
    await page.emulateMedia({ colorScheme: 'light' });
  });

  it('are in the order of rewards, with their last frames and advantages', async () => {
    await open(`runs/${RUN}/steps/20`);
    await tiles(0).first().waitFor();
    expect(await tiles(0).count()).toBe(8);
    const texts = (await tiles(0).allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').trim());
    expect(texts[0]).toBe('success 1.20 advantage +0.13 3 turns');
    expect(texts[7]).toBe('failure 0.20 advantage −0.88 3 turns');
    expect(await tiles(0).last().getAttribute('class')).toContain('bad');
    const last = (await (await fetch(`${opened.monitor.url}/api/episodes/${BLAMED}`)).json()) as {
      finalScreenshot: string;
    };
    expect(await tiles(0).last().getByRole('img').getAttribute('src')).toContain(last.finalScreenshot);
  });

  it('without signal are folded after the others, in the colour of their result', async () => {
    await open(`runs/${RUN}/steps/20`);
    const folded = page.locator('.without-signal');
    await folded.waitFor();
    expect(await folded.locator('.badge.good').first().innerText()).toBe('all succeed: no signal');
    expect(await tiles(1).first().isVisible()).toBe(false);
    await folded.locator('summary').click();
    await tiles(1).first().waitFor();
    expect(await tiles(1).count()).toBe(8);
  });

  it('are beside each episode, which is marked', async () => {
    await open(`episodes/${BLAMED}`);
    await tiles(0).first().waitFor();
    expect(await tiles(0).count()).toBe(8);
    expect(await page.locator('.tile[aria-current]').getAttribute('title')).toBe(BLAMED);
    await tiles(0).first().click();
    await page.getByText('1 of 8 in the group').waitFor();
  });
});

describe('two episodes', () => {
  const SUCCESS = `${RUN}-g19-r0`;

  it.each(VIEWPORTS)('are side by side within the window of $width pixels', async (viewport) => {
    await page.setViewportSize(viewport);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await open(`episodes/${BLAMED}?beside=${SUCCESS}&turn=2&difference=before`);
      await page.locator('.pair .said').nth(1).filter({ hasText: 'differ' }).waitFor();
      expect(await page.locator('.pair .screen').count()).toBe(2);
      expect(await overflowOf(page)).toBe(0);
      await opened.shot(`beside-${viewport.width}-${colorScheme}`);
    }
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize(VIEWPORTS[2]);
  });

  it('are chosen from the group or the task, and played together', async () => {
    await open(`episodes/${BLAMED}`);
    await page.getByLabel('Side by side').selectOption(SUCCESS);
    await page.locator('.pair').waitFor();
    expect(page.url()).toContain(`beside=${SUCCESS}`);
    expect(await page.locator('.pair .pane-title strong').allInnerTexts()).toEqual(['0.20', '1.20']);
    expect(await page.getByLabel('Side by side').locator('optgroup').count()).toBe(2);
    await page.keyboard.press('ArrowRight');
    await eventually('both in turn 2', async () => {
      const acts = await page.locator('.pair .act').allInnerTexts();
      return acts.length === 2 && acts.every((act) => act.startsWith('swipe'));
    });
    await page.getByText('Both episodes have the same actions.').waitFor();
    await page.getByRole('link', { name: 'Side by side' }).nth(1).click();
    await eventually('another one', async () => !page.url().includes(SUCCESS));
  });

  it('that differ name the first turn in which they do', async () => {
    await open(`episodes/${BLAMED}?beside=${LONG}`);
    await page.locator('.pair').waitFor();
    await page.getByRole('button', { name: 'Next frame' }).click();
    await page.getByRole('button', { name: 'turn 1', exact: true }).click();
    expect(await page.locator('.player .place').innerText()).toBe('Turn 1 of 3');
    expect(await page.locator('.pair .act').allInnerTexts()).toEqual(['click 40, 48', 'finish: done']);
  });

  it('or one, have the pixels marked that change', async () => {
    await open(`episodes/${BLAMED}`);
    await page.getByLabel('Differences').selectOption('before');
    await page.getByRole('button', { name: 'Next frame' }).click();
    const said = page.locator('.frame .said');
    await said.filter({ hasText: /^\d+\.\d % of the pixels differ$/ }).waitFor();
    const marked = await page.locator('canvas.difference').evaluate((each) => {
      const canvas = each as HTMLCanvasElement;
      const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
      return data.filter((value, at) => at % 4 === 3 && value > 0).length / (canvas.width * canvas.height);
    });
    expect(`${(marked * 100).toFixed(1)} % of the pixels differ`).toBe(await said.innerText());
    await open(`episodes/${BLAMED}?beside=${SUCCESS}&difference=beside`);
    await page.locator('.pair .said').nth(1).filter({ hasText: 'No pixel differs' }).waitFor();
  });
});

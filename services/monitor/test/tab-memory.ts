import { subjects } from '@ui-rl/contracts';
import { makeRollout, makeTrajectory } from '@ui-rl/testkit';
import type { CDPSession } from 'playwright';
import { BUSY, STEPS_OF_BUSY } from './many-runs';
import type { OpenPage } from './open-page';

const EPISODES = 4;
const METRICS = 60;
/** An open page reads a run that trains once in two seconds: this many times in an hour. */
export const UPDATES_PER_HOUR = 1_800;

/** Memory of a tab after a forced garbage collection. */
export interface TabMemory {
  heapBytes: number;
  nodes: number;
  listeners: number;
}

/** A tab with the run that trains, whose time passes so fast that an hour of updates takes minutes. */
export class BusyTab {
  private step = STEPS_OF_BUSY;

  private constructor(
    private readonly opened: OpenPage,
    private readonly devtools: CDPSession,
  ) {}

  static async open(opened: OpenPage): Promise<BusyTab> {
    const { page, context, monitor } = opened;
    await page.addInitScript(HURRY);
    await page.goto(`${monitor.url}/#/runs/${BUSY}`);
    await page.locator('.chart canvas').first().waitFor();
    await page.getByText('live', { exact: true }).waitFor();
    return new BusyTab(opened, await context.newCDPSession(page));
  }

  /** Publishes steps one by one, each once the page has shown the one before. */
  async follow(updates: number): Promise<void> {
    for (let index = 0; index < updates; index += 1) {
      this.step += 1;
      await this.publish();
      await this.opened.page.evaluate(`showStep(${this.step}, ${JSON.stringify(BUSY)})`);
    }
  }

  async memory(): Promise<TabMemory> {
    await this.devtools.send('HeapProfiler.enable');
    // Twice: what the first one finalizes, the second one frees.
    await this.devtools.send('HeapProfiler.collectGarbage');
    await this.devtools.send('HeapProfiler.collectGarbage');
    await this.devtools.send('Performance.enable');
    const { metrics } = await this.devtools.send('Performance.getMetrics');
    const value = (name: string) => metrics.find((each) => each.name === name)!.value;
    return {
      heapBytes: value('JSHeapUsedSize'),
      nodes: value('Nodes'),
      listeners: value('JSEventListeners'),
    };
  }

  private async publish(): Promise<void> {
    const { bus } = this.opened;
    const { step } = this;
    const rolloutIds = Array.from({ length: EPISODES }, (_, index) => `followed-${step}-${index}`);
    await Promise.all(
      rolloutIds.map((rolloutId) => {
        const trajectory = makeTrajectory({ request: makeRollout({ rolloutId, runId: BUSY }) });
        return bus.publishJson(subjects.trajectory(BUSY, 'train'), trajectory, rolloutId);
      }),
    );
    const metrics = {
      ...Object.fromEntries(Array.from({ length: METRICS }, (_, index) => [`load/metric_${index}`, index])),
      ...{ 'optim/loss': Math.random(), 'optim/entropy': Math.random(), 'env/all/success': Math.random() },
      ...{ 'env/all/reward/total': Math.random(), 'optim/kl_sample_train_v2': Math.random() * 1e-6 },
    };
    await bus.event({ type: 'train_step', runId: BUSY, step, rolloutIds, metrics }, `followed-${step}`);
  }
}

/**
 * Runs before the scripts of the page. Its clock runs 100 times as fast, so that it reads as soon as it hears of a
 * change. `showStep` tells it of changes, without waiting for the second in which the monitor gathers them, until it
 * shows the step.
 */
const HURRY = `{
  const began = Date.now();
  const { now } = Date;
  Date.now = () => began + (now() - began) * 100;
  const { setTimeout: later } = window;
  window.setTimeout = (callback, ms = 0, ...rest) => later(callback, ms / 100, ...rest);
  let live;
  window.EventSource = class extends EventSource {
    constructor(address) {
      super(address);
      live = this;
    }
  };
  window.showStep = async (step, runId) => {
    const data = JSON.stringify([{ runId, episodes: ${EPISODES}, events: ['train_step'] }]);
    const ends = now() + 60_000;
    const shown = () => Number(document.querySelector('.stat .value').textContent.replaceAll(',', ''));
    while (shown() < step) {
      if (now() > ends) throw new Error('the page shows step ' + shown() + ' after 60 s, expected ' + step);
      live.dispatchEvent(new MessageEvent('change', { data }));
      await new Promise((resume) => later(resume, 15));
    }
  };
}`;

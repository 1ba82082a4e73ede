import { Attempt, makeTask, pageFor, type Task as PageTask } from '@ui-rl/page-tasks';
import { FIRST_HELD_OUT_SEED, PageRenderer, type LivePage } from '@ui-rl/page-generator';
import {
  Random,
  type Deadline,
  type Environment,
  type EnvironmentContext,
  type EnvironmentSession,
  type OpenOptions,
  type Reply,
} from '@ui-rl/plugin-kit';
import { readChoice, type PageChoice } from './choice';
import { replyInTime } from './in-time';
import { GeneratedPageSession } from './session';

/** Opens generated pages in tabs of one browser, which starts with the first episode. */
export class GeneratedPages implements Environment {
  private renderer: Promise<PageRenderer> | undefined;

  constructor(private readonly context: EnvironmentContext) {}

  open({ task, seed }: OpenOptions, deadline: Deadline): Promise<Reply<EnvironmentSession>> {
    return replyInTime(deadline, async () => {
      const choice = readChoice(task);
      const { live, pageTask } = await openTask(await this.browser(), choice, new Random(seed), deadline);
      const session = await GeneratedPageSession.of(new Attempt(pageTask, live), live);
      // The caller does not wait for it any more.
      if (deadline.signal.aborted) await session.discard();
      return session;
    });
  }

  async close(): Promise<void> {
    const renderer = await this.renderer?.catch(() => undefined);
    this.renderer = undefined;
    await renderer?.close();
  }

  /** The browser, started again if it ended or did not start. */
  private browser(): Promise<PageRenderer> {
    const launch = () => PageRenderer.launch({ chromium: this.context.programs.chromium });
    this.renderer = (this.renderer ?? launch()).then(async (renderer) => {
      if (renderer.isRunning()) return renderer;
      await renderer.close();
      return launch();
    }, launch);
    return this.renderer;
  }
}

/** The first page from a random seed on that supports a task of the kind. */
async function openTask(
  renderer: PageRenderer,
  { kind, split, width, height }: PageChoice,
  random: Random,
  { signal }: Deadline,
): Promise<{ live: LivePage; pageTask: PageTask }> {
  const lowest = split === 'training' ? 0 : FIRST_HELD_OUT_SEED;
  for (let seed = lowest + random.below(FIRST_HELD_OUT_SEED / 2); !signal.aborted; seed++) {
    const page = pageFor(kind, seed, { width, height });
    if (page === undefined) continue;
    const live = await renderer.open(page);
    try {
      const pageTask = makeTask(kind, page, await live.truth(), random, split);
      if (pageTask !== undefined) return { live, pageTask };
    } catch (error) {
      await live.close();
      throw error;
    }
    await live.close();
  }
  throw new Error(`found no page for a task of the kind "${kind}" in time`);
}

import { createHash } from 'node:crypto';
import type { Browser } from 'playwright';
import type {
  Action,
  DescribedElement,
  OracleObservation,
  PretrainingGoal,
  PretrainingSupport,
  Task,
  TaskSourceComponent,
} from '@ui-rl/plugin-kit';
import { Random } from '@ui-rl/random';
import { pageFolderOf, Phone } from './phone';

/** A screen with its description, and the correct next action for some goals. */
export interface Screen {
  png: Uint8Array;
  elements: DescribedElement[];
  demonstrations: Demonstration[];
}

export interface Demonstration {
  goal: string;
  action: Action;
}

export interface CollectOptions {
  /** Number of distinct screens to collect. */
  screens: number;
  /** Pages used concurrently. */
  pages: number;
  seed: number;
  /** Maximum demonstrations per screen. */
  goalsPerScreen: number;
  onProgress(collected: number): void;
}

/** Share of a walk's actions that click a random element, so that screens off the direct way are included. */
const STRAY = 0.3;
/** Candidate goals per screen: goals decided on it or behind it, and random ones. */
const NEAR_CANDIDATES = 14;
const FAR_CANDIDATES = 8;
const LONGEST_WALK = 7;

export type Source = TaskSourceComponent & { pretraining: PretrainingSupport };

/** Walks through the source's screens and records the correct actions on each. Duplicate screens are dropped. */
export async function collectScreens(
  browser: Browser,
  source: Source,
  goals: readonly PretrainingGoal[],
  options: CollectOptions,
): Promise<Screen[]> {
  const found = new Map<string, Screen>();
  const folder = pageFolderOf(source);
  const walkers = Array.from({ length: options.pages }, async (_, index) => {
    const phone = await Phone.open(browser, folder, source.pretraining.viewport);
    const walker = new Walker(
      phone,
      source,
      goals,
      new Random(options.seed * 1000 + index),
      options.goalsPerScreen,
    );
    while (found.size < options.screens) {
      for (const screen of await walker.walk()) {
        const hash = createHash('sha256').update(screen.png).digest('hex');
        if (!found.has(hash)) found.set(hash, screen);
      }
      options.onProgress(Math.min(found.size, options.screens));
    }
  });
  await Promise.all(walkers);
  return [...found.values()].slice(0, options.screens);
}

class Walker {
  constructor(
    private readonly phone: Phone,
    private readonly source: Source,
    private readonly goals: readonly PretrainingGoal[],
    private readonly random: Random,
    private readonly goalsPerScreen: number,
  ) {}

  /** One walk towards a random goal from a random screen. */
  async walk(): Promise<Screen[]> {
    const screens: Screen[] = [];
    const task = this.randomStart();
    await this.phone.reset(task, this.random.below(2 ** 30));
    for (let step = 0; step < LONGEST_WALK; step++) {
      const seen = await this.phone.look();
      screens.push(await this.screen(seen, task));
      const right = this.source.oracle!(task, seen);
      const action = this.random.chance(STRAY) ? this.strayClick(seen) : right;
      if (action.action === 'finish') break;
      await this.phone.perform(action);
    }
    return screens;
  }

  private randomStart(): Task {
    const { task, place } = this.random.pick(this.goals);
    const dice = this.random.next();
    if (dice < 0.35) return task;
    return this.source.pretraining.startingFrom(
      task,
      dice < 0.7 ? place : this.random.pick(this.goals).place,
    );
  }

  private async screen(seen: OracleObservation, task: Task): Promise<Screen> {
    const png = await this.phone.screenshot();
    return {
      png,
      elements: seen.elements,
      demonstrations: this.demonstrate(seen, task),
    };
  }

  /**
   * The walk's own goal, goals decided on this screen or behind it, and random ones. Keeps one goal per action, so
   * that the screen alone does not determine the answer.
   */
  private demonstrate(seen: OracleObservation, own: Task): Demonstration[] {
    const byAction = new Map<string, Demonstration>();
    for (const task of this.candidates(seen, own)) {
      if (byAction.size >= this.goalsPerScreen) break;
      const action = this.source.oracle!(task, seen);
      const key = JSON.stringify(action);
      if (!byAction.has(key)) byAction.set(key, { goal: task.description, action });
    }
    return [...byAction.values()];
  }

  private candidates({ state }: OracleObservation, own: Task): Task[] {
    const screen = String(state.screen);
    const near = this.goals.filter(({ place }) => place === screen || place.startsWith(`${screen}/`));
    const any = Array.from({ length: FAR_CANDIDATES }, () => this.random.pick(this.goals));
    return [
      own,
      ...[...this.random.shuffled(near).slice(0, NEAR_CANDIDATES), ...any].map(({ task }) => task),
    ];
  }

  private strayClick({ elements }: OracleObservation): Action {
    return clickOn(this.random.pick(elements));
  }
}

export function clickOn({ box: [x, y, width, height] }: DescribedElement): Action {
  return { action: 'click', x: Math.round(x + width / 2), y: Math.round(y + height / 2) };
}

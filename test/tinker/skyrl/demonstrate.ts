import { writeFileSync } from 'node:fs';
import { dialects } from '@ui-rl/actions';
import { VisionLanguageModel } from '@ui-rl/api';
import {
  samplingSeed,
  type PolicyActReply,
  type PolicyActRequest,
  type RolloutRequest,
  type StoredEpisode,
  type Task,
  type Trajectory,
} from '@ui-rl/contracts';
import type { Policy } from '@ui-rl/episode';
import { loadTasks } from '@ui-rl/plugin-kit';
import { Random } from '@ui-rl/random';
import { loadRunFile, readCliSettings, taskMachine, type RunFileOptions } from '@ui-rl/settings';
import { Player } from '../../../libs/api/src/task/player';
import { components, VIEWPORT } from '../../../plugins/task-source-demo/src';
import { clickOn, launchBrowser, pageFolderOf, Phone } from './phone';

const demo = components.find(({ name }) => name === 'demo_training')!;

export interface DemonstrationOptions {
  /** Output file of the episodes, one per line. */
  out: string;
  /** The run that will learn from them: its tasks, environment and model. */
  runFile: RunFileOptions;
  episodesPerTask: number;
  /** Share of actions that click a random element, so that an imitating policy has something left to learn. */
  slips: number;
  seed: number;
}

export interface Demonstrated {
  episodes: number;
  successes: number;
  /** Maximum length of a prompt with its answer, in tokens. */
  longest: number;
}

/** Episodes on the demo phone, played by the oracle with random errors. */
export async function demonstrate(options: DemonstrationOptions): Promise<Demonstrated> {
  const { out, runFile, episodesPerTask, seed } = options;
  const loaded = await loadRunFile({ options: runFile });
  const { run, registry } = loaded;
  // As sampled in training.
  run.evaluation.temperature = 1;
  const tasks = await loadTasks(registry, run.tasks, taskMachine(registry));
  const model = await VisionLanguageModel.load(run.model.name, { device: 'cpu' });
  const browser = await launchBrowser(readCliSettings().chromiumBin);
  const phone = await Phone.open(browser, pageFolderOf(demo), VIEWPORT);
  const hand = new SlippingHand(model, phone, options.slips);
  const player = await Player.create(loaded, { policy: hand, actors: 1, onWarning: console.error });
  try {
    const trajectories: Trajectory[] = [];
    for (let index = 0; index < episodesPerTask * tasks.length; index += 1) {
      const request = requestOf(tasks[index % tasks.length], index, seed);
      await hand.begin(request);
      const { screenshot: _, ...trajectory } = await player.play(request);
      if (trajectory.status === 'invalid') throw new Error(trajectory.invalidReason);
      trajectories.push(trajectory);
    }
    const lines = trajectories.map((trajectory): StoredEpisode => ({ trajectory }));
    writeFileSync(out, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const turns = trajectories.flatMap((each) => each.turns);
    return {
      episodes: trajectories.length,
      successes: trajectories.filter(({ success }) => success === true).length,
      longest: Math.max(
        ...turns.map(({ promptTokenIds, tokenIds }) => promptTokenIds.length + tokenIds.length),
      ),
    };
  } finally {
    await player.close();
    await browser.close();
    await model.stop();
  }
}

function requestOf(task: Task, index: number, seed: number): RolloutRequest {
  const id = `demonstration-${index}`;
  return {
    runId: 'demonstrations',
    rolloutId: `${id}-r0`,
    groupId: id,
    groupIndex: index,
    indexInGroup: 0,
    groupSize: 1,
    attempt: 0,
    purpose: 'train',
    task,
    seed: seed + index,
    samplingSeed: samplingSeed(seed, id),
    policy: 'latest',
  };
}

/** Plays the same on a separate page, whose elements and state it can read. */
class SlippingHand implements Policy {
  readonly modelImage: Policy['modelImage'];
  private task: Task;
  private random: Random;

  constructor(
    private readonly model: VisionLanguageModel,
    private readonly phone: Phone,
    private readonly slips: number,
  ) {
    this.modelImage = (screenshot) => model.modelImage(screenshot);
  }

  async begin({ task, seed }: RolloutRequest): Promise<void> {
    this.task = task;
    this.random = new Random(seed);
    await this.phone.reset(task, seed);
  }

  async act(request: PolicyActRequest): Promise<PolicyActReply> {
    const seen = await this.phone.look();
    const right = demo.oracle!(this.task, seen);
    const isSlip = right.action !== 'finish' && this.random.chance(this.slips);
    const action = isSlip ? clickOn(this.random.pick(seen.elements)) : right;
    await this.phone.perform(action);
    const size = VIEWPORT;
    return this.model.answered(
      request,
      dialects.json.format([action], { screenshot: size, modelImage: size }),
    );
  }
}

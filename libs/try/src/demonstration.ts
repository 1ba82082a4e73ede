import type { Action, Dialect } from '@ui-rl/actions';
import { modelChoice, Player, VisionLanguageModel } from '@ui-rl/api';
import {
  groupOfOne,
  samplingSeed,
  type PolicyActReply,
  type PolicyActRequest,
  type RolloutRequest,
  type StoredEpisode,
  type Trajectory,
} from '@ui-rl/contracts';
import type { Policy } from '@ui-rl/episode';
import { imageSize } from '@ui-rl/models';
import { readCliSettings } from '@ui-rl/settings';
import { TryFailure } from './failure';
import type { HandTask } from './hand-episode';
import type { TryOptions } from './options';
import type { TrySetup } from './setup';

const NAME = 'by-hand';

/**
 * Converts a person's episode to the answers that a model would have given, token by token, for a run that starts
 * from it (`training.warm_start`). Returns one line of such a file. The model is loaded for its tokenizer and its
 * screenshot size.
 *
 * @throws if the action format cannot express the actions; TryFailure if the converted actions do not succeed
 */
export async function demonstrate(hand: HandTask, setup: TrySetup, options: TryOptions): Promise<string> {
  const { signal, onWarning, workingDir } = options;
  const { model: name, ...weights } = modelChoice(setup.checkpoint, readCliSettings(), workingDir);
  const model = await VisionLanguageModel.load(name, { ...weights, device: 'cpu', signal });
  const { run, registry } = setup.loaded;
  const dialect = registry.create('action-dialect', run.model.action_format, {});
  const policy = new Demonstrator(model, dialect, [...hand.actions, { action: 'finish', success: true }]);
  // Sampled as in training.
  const sampled = structuredClone(run);
  sampled.evaluation.temperature = 1;
  // The turn limit of the run that is written together with it.
  sampled.rollout.max_turns = hand.task.maxSteps;
  const player = await Player.create(
    { registry, run: sampled },
    {
      policy,
      actors: 1,
      signal,
      onWarning,
      variables: setup.variables,
      onScreenshot: (png) => policy.see(png),
    },
  );
  try {
    const { screenshot, ...trajectory } = await player.play(requestOf(hand, setup));
    if (trajectory.success !== true) throw new TryFailure(failureOf(trajectory));
    const hashes = new Set(trajectory.turns.flatMap(({ promptImages }) => promptImages));
    const images = Object.fromEntries(
      [...hashes].map((hash) => [hash, Buffer.from(screenshot(hash)).toString('base64')]),
    );
    const line: StoredEpisode = { trajectory, images };
    return `${JSON.stringify(line)}\n`;
  } finally {
    await player.close();
    await model.stop();
  }
}

function failureOf({ status, invalidReason }: Pick<Trajectory, 'status' | 'invalidReason'>): string {
  const said = 'the actions do not succeed as the model would say them';
  return status === 'invalid' ? `${said}: ${invalidReason}` : said;
}

function requestOf({ task }: HandTask, { seed }: TrySetup): RolloutRequest {
  return {
    ...groupOfOne(NAME),
    runId: NAME,
    purpose: 'train',
    task,
    seed,
    samplingSeed: samplingSeed(seed, NAME),
    policy: 'latest',
  };
}

/** A policy that answers with the person's actions. */
class Demonstrator implements Policy {
  private next = 0;
  private shown: Uint8Array = new Uint8Array(0);

  constructor(
    private readonly model: VisionLanguageModel,
    private readonly dialect: Dialect,
    private readonly actions: readonly Action[],
  ) {}

  modelImage: Policy['modelImage'] = (screenshot) => this.model.modelImage(screenshot);

  see(png: Uint8Array): void {
    this.shown = png;
  }

  async act(request: PolicyActRequest): Promise<PolicyActReply> {
    const screenshot = await imageSize(this.shown);
    const isTold = request.images.length === 0;
    const sizes = { screenshot, modelImage: isTold ? screenshot : await this.model.modelImage(screenshot) };
    return this.model.answered(request, this.dialect.format([this.actions[this.next++]], sizes));
  }
}

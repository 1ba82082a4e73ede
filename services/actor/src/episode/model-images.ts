import type { BusService } from '@ui-rl/bus';
import { type ImageSize, PolicyInfoReply, subjects } from '@ui-rl/contracts';
import type { Clock } from './clock';
import { EpisodeFailure } from './failure';
import type { Timeouts } from './plan';
import { requestLearner } from './policy';

/** The sizes in which the model of a run sees screenshots; the learner is asked once per size. */
export class ModelImages {
  private readonly sizes = new Map<string, ImageSize>();

  constructor(
    private readonly bus: BusService,
    private readonly runId: string,
  ) {}

  /**
   * The size in which the model sees a screenshot of this one.
   *
   * @throws EpisodeFailure, Stopped
   */
  async sizeOf({ width, height }: ImageSize, clock: Clock, timeouts: Timeouts): Promise<ImageSize> {
    const key = `${width}×${height}`;
    const known = this.sizes.get(key);
    if (known !== undefined) return known;
    const message = { runId: this.runId, screenshot: { width, height } };
    const info = { subject: subjects.policyInfo(this.runId), message, schema: PolicyInfoReply };
    const { modelImage } = await requestLearner(this.bus, info, clock, timeouts);
    if (modelImage === undefined) {
      throw new EpisodeFailure(
        'bad_reply',
        `the learner does not say how its model sees a screenshot of ${key} pixels`,
      );
    }
    this.sizes.set(key, modelImage);
    return modelImage;
  }
}

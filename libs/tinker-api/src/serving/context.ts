import type { ServedModel, ServingLimits } from '../served-model';
import type { Archives } from './archives';
import type { CheckpointStore } from './checkpoints';
import type { Futures } from './futures';
import type { RequestImages } from './images';
import type { TokenRange } from './model-inputs';
import type { Samplers } from './samplers';
import type { Sessions } from './sessions';

/** Shared state of all operations. */
export interface Context {
  model: ServedModel;
  limits: ServingLimits;
  range: TokenRange;
  sessions: Sessions;
  futures: Futures;
  store: CheckpointStore;
  samplers: Samplers;
  images: RequestImages;
  archives: Archives;
}

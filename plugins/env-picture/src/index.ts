import type { EnvironmentComponent, TaskSourceComponent } from '@ui-rl/plugin-kit';
import { VARIABLES } from './folder';
import { PictureEnvironment } from './picture';
import { groundingSource, GroundingOptions, NAME } from './source';

/** One screenshot, one answer: the first click ends the episode. */
const picture: EnvironmentComponent = {
  kind: 'environment',
  name: 'picture',
  description: 'A screenshot from a file; the first click is the answer.',
  environment: VARIABLES,
  create: (_options, context) => Promise.resolve(new PictureEnvironment(context)),
};

const grounding: TaskSourceComponent<GroundingOptions> = {
  kind: 'task-source',
  name: NAME,
  description: 'Annotated screenshots in the formats of ScreenSpot, ScreenSpot-Pro and OSWorld-G.',
  options: GroundingOptions,
  environment: VARIABLES,
  create: (options, context) => groundingSource(options, context),
};

export const components = [picture, grounding];

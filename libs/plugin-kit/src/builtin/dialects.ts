import {
  COORDINATE_SPACES,
  dialectFactories,
  type CoordinateSpace,
  type DialectFactory,
} from '@ui-rl/actions';
import { IsIn } from 'class-validator';
import type { ActionDialectComponent } from '../kinds';
import { Doc } from '../options';
import { ActionsOption } from './actions-option';

/** The action format of a model family, with a choice of coordinate space. */
interface DialectOptions extends ActionsOption {
  coordinates: CoordinateSpace;
}

export const dialects: readonly ActionDialectComponent<DialectOptions>[] = Object.entries(
  dialectFactories,
).map(([name, { description, coordinates, create }]) => ({
  kind: 'action-dialect',
  name,
  description,
  options: optionsOf(coordinates),
  create: ({ coordinates: space, actions }: DialectOptions) => create(space, actions),
}));

function optionsOf(declared: DialectFactory['coordinates']): new () => DialectOptions {
  class Options extends ActionsOption {
    @Doc(
      'unit of coordinates: pixels of the screenshot, pixels of the image as resized for the model, or parts of the screen from 0 to 1000, 999 or 1',
    )
    @IsIn(COORDINATE_SPACES)
    coordinates: CoordinateSpace = declared;
  }
  return Options;
}

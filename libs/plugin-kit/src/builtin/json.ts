import { jsonInSpace, WHOLE_SPACES } from '@ui-rl/actions';
import { IsIn } from 'class-validator';
import type { ActionDialectComponent } from '../kinds';
import { Doc } from '../options';
import { ActionsOption } from './actions-option';

class JsonOptions extends ActionsOption {
  @Doc(
    'unit of coordinates: pixels of the screenshot, pixels of the image as resized for the model, or parts of the screen from 0 to 1000 or 999',
  )
  @IsIn(WHOLE_SPACES)
  coordinates: (typeof WHOLE_SPACES)[number] = 'screenshot';
}

/** One JSON object per answer: `{"action": "click", "x": 10, "y": 20}`. */
export const json: ActionDialectComponent<JsonOptions> = {
  kind: 'action-dialect',
  name: 'json',
  description: 'One JSON object per answer: {"action":"click","x":83,"y":41}',
  options: JsonOptions,
  create: ({ coordinates, actions }) => jsonInSpace(coordinates, actions),
};

import { ACTION_NAMES, type ActionName } from '@ui-rl/actions';
import { ArrayNotEmpty, IsArray, IsIn, IsOptional } from 'class-validator';
import { Doc } from '../options';

/** The actions of an action format. */
export class ActionsOption {
  @Doc(
    'actions that the model may use; others are neither described nor accepted, and no grammar allows them; default: all that the format can express',
  )
  @IsOptional()
  @IsIn(ACTION_NAMES, { each: true })
  @ArrayNotEmpty()
  @IsArray()
  actions?: ActionName[];
}

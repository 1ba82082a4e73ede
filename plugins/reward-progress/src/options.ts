import { IsNotEmpty, IsNumber, IsOptional, IsString, Min } from 'class-validator';
import { Above, Doc } from '@ui-rl/plugin-kit';

export class ProgressOptions {
  @Doc('reward for each further correct submission')
  @IsNumber()
  @Above(0)
  correct = 1;

  @Doc('penalty for each further incorrect submission')
  @IsNumber()
  @Min(0)
  incorrect = 0.5;

  @Doc('penalty per turn')
  @IsNumber()
  @Min(0)
  step_cost = 0.01;

  @Doc('where the counts lie in the state of the environment, a dotted path; default: the state itself')
  @IsOptional()
  @IsString()
  @IsNotEmpty()
  path?: string;
}

import { Doc } from '@ui-rl/plugin-kit';
import type { Split } from '@ui-rl/page-tasks';
import {
  ArrayNotEmpty,
  ArrayUnique,
  IsArray,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Max,
  Min,
} from 'class-validator';

export const ENVIRONMENT = 'generated-pages';
export const SOURCE = 'generated_pages';
export const SPLITS = ['training', 'held-out'] as const satisfies readonly Split[];
/** Width and height of pages in pixels. */
export const SIDES = { least: 160, most: 480 };

export class GeneratedPagesOptions {
  @Doc('kinds of tasks, such as click, type and form; default: all')
  @IsOptional()
  @IsArray()
  @ArrayNotEmpty()
  @ArrayUnique()
  @IsString({ each: true })
  kinds?: string[];

  @Doc('training, or held-out: pages, wordings and names for evaluation, which training never has')
  @IsIn(SPLITS)
  split: Split = 'training';

  @Doc('width of the pages in pixels')
  @IsInt()
  @Min(SIDES.least)
  @Max(SIDES.most)
  width = 160;

  @Doc('height of the pages in pixels')
  @IsInt()
  @Min(SIDES.least)
  @Max(SIDES.most)
  height = 208;

  @Doc('turns until an episode is truncated')
  @IsInt()
  @Min(1)
  max_steps = 10;
}

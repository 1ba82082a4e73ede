import { Doc } from '@ui-rl/plugin-kit';
import { ArrayNotEmpty, IsArray, IsIn, IsInt, IsOptional, IsString, Matches, Min } from 'class-validator';
import { SPLITS, SUBSETS, type Split, type Subset } from './pages';

export const LOOKS = ['160x210', '332x214'] as const;
export const QUERIES = ['readable', 'hidden'] as const;
export const SUCCESSES = ['strict', 'positive'] as const;
export const DATA_MODES = ['default', 'train', 'test'] as const;

/** The pages to use, and their appearance. */
export class MiniwobOptions {
  @Doc("the side of BrowserGym's split: 62 pages for training, 63 for testing; default: all")
  @IsOptional()
  @IsIn(SPLITS)
  split?: Split;

  @Doc('sets of pages: original, hidden, additional, debug, nodelay; default: all')
  @IsOptional()
  @IsArray()
  @IsIn(SUBSETS, { each: true })
  subsets?: Subset[];

  @Doc('names of pages, such as click-test; default: all')
  @IsOptional()
  @IsArray()
  @ArrayNotEmpty()
  @IsString({ each: true })
  pages?: string[];

  @Doc(
    "160x210: the task's area and nothing else; 332x214: as BrowserGym shows it, 1.5 times as large on the screenshot",
  )
  @IsIn(LOOKS)
  look: (typeof LOOKS)[number] = '160x210';

  @Doc('instruction on the page, in addition to the goal: readable or hidden')
  @IsIn(QUERIES)
  query: (typeof QUERIES)[number] = 'readable';

  @Doc(
    "strict: success is a raw reward of 1; positive: any above 0, BrowserGym's rule, which counts partial credit as success",
  )
  @IsIn(SUCCESSES)
  success: (typeof SUCCESSES)[number] = 'strict';

  @Doc('data set to draw from, for pages that have several')
  @IsIn(DATA_MODES)
  data_mode: (typeof DATA_MODES)[number] = 'default';

  @Doc('maximum number of turns per episode')
  @IsInt()
  @Min(1)
  max_steps = 10;

  @Doc(
    'address of the folder with the pages, http://host:8000/miniwob/; default: the pages that `ui-rl setup --miniwob` fetched, or the checkout MINIWOB_DIR',
  )
  @IsOptional()
  @Matches(/^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/, {
    message: 'must be the address of a folder such as http://host:8000/miniwob/',
  })
  address?: string;
}

import { Doc } from '@ui-rl/plugin-kit';
import { ArrayNotEmpty, IsArray, IsIn, IsInt, IsOptional, IsString, Matches, Min } from 'class-validator';
import { SPLITS, SUBSETS, type Split, type Subset } from './pages';

export const LOOKS = ['160x210', '332x214'] as const;
export const QUERIES = ['readable', 'hidden'] as const;
export const SUCCESSES = ['strict', 'positive'] as const;
export const DATA_MODES = ['default', 'train', 'test'] as const;

/** The pages to use, and their appearance. */
export class MiniwobOptions {
  @Doc("the side of BrowserGym's split: 62 pages for training, 63 for testing; all without it")
  @IsOptional()
  @IsIn(SPLITS)
  split?: Split;

  @Doc('sets of pages: original, hidden, additional, debug, nodelay; all without it')
  @IsOptional()
  @IsArray()
  @IsIn(SUBSETS, { each: true })
  subsets?: Subset[];

  @Doc('names of pages, such as click-test; all without it')
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

  @Doc('whether the page shows what is to be done, besides the goal in words: readable or hidden')
  @IsIn(QUERIES)
  query: (typeof QUERIES)[number] = 'readable';

  @Doc(
    "strict: success is a raw reward of 1; positive: any above 0, BrowserGym's rule, which counts partial credit as success",
  )
  @IsIn(SUCCESSES)
  success: (typeof SUCCESSES)[number] = 'strict';

  @Doc('which of its data a page that has several sets of it draws from')
  @IsIn(DATA_MODES)
  data_mode: (typeof DATA_MODES)[number] = 'default';

  @Doc('turns after which an episode is truncated')
  @IsInt()
  @Min(1)
  max_steps = 10;

  @Doc(
    'address of the folder that has the pages, http://host:8000/miniwob/; without it they are those that `ui-rl setup --miniwob` has fetched, or of the checkout that MINIWOB_DIR names',
  )
  @IsOptional()
  @Matches(/^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/, {
    message: 'must be the address of a folder such as http://host:8000/miniwob/',
  })
  address?: string;
}

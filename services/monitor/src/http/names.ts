import { BadRequestException, Injectable, type PipeTransform } from '@nestjs/common';
import { RUN_ID } from '@ui-rl/contracts';

/** Rollout ids, which runs choose freely: any text that a database accepts. */
const ROLLOUT_ID = /^[^\p{Cc}]{1,300}$/u;
/** The largest step that is recorded. */
const MAX_STEP = 2 ** 31 - 1;

// eslint-disable-next-line no-control-regex
const TEXT = /^[^\0]{0,1000}$/;
const MAX_TEXTS = 100;

/** Accepts only possible names of recorded data. Nothing else reaches the database. */
class NamePipe implements PipeTransform<unknown, string> {
  constructor(
    private readonly pattern: RegExp,
    private readonly problem: string,
  ) {}

  transform(value: unknown): string {
    if (typeof value === 'string' && this.pattern.test(value)) return value;
    throw new BadRequestException(this.problem);
  }
}

export const RUN = new NamePipe(RUN_ID, 'a run is named by letters, digits, - and _');
export const ROLLOUT = new NamePipe(ROLLOUT_ID, 'an episode is named by at most 300 characters');
export const SHA256 = new NamePipe(/^[0-9a-f]{64}$/, 'a screenshot is named by 64 hexadecimal digits');

/** A step: an integer. */
@Injectable()
export class StepPipe implements PipeTransform<string, number> {
  transform(value: string): number {
    const step = Number(value);
    if (/^\d{1,10}$/.test(value) && step <= MAX_STEP) return step;
    throw new BadRequestException(`a step is a whole number from 0 to ${MAX_STEP}`);
  }
}

/** A text of a query; undefined if it is missing. */
@Injectable()
export class TextPipe implements PipeTransform<unknown, string | undefined> {
  transform(value: unknown): string | undefined {
    if (value === undefined || (typeof value === 'string' && TEXT.test(value))) return value;
    throw new BadRequestException('expected one text of at most 1000 characters');
  }
}

/** Texts of a repeated query parameter; undefined if it is missing. */
@Injectable()
export class TextsPipe implements PipeTransform<unknown, string[] | undefined> {
  transform(value: unknown): string[] | undefined {
    if (value === undefined) return undefined;
    const texts: unknown[] = Array.isArray(value) ? value : [value];
    if (texts.length <= MAX_TEXTS && texts.every((text) => typeof text === 'string' && TEXT.test(text))) {
      return texts as string[];
    }
    throw new BadRequestException(`expected at most ${MAX_TEXTS} texts of at most 1000 characters`);
  }
}

import { BadRequestException } from '@nestjs/common';
import type { RunLabels } from '@ui-rl/records';
import { Transform } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsOptional,
  IsString,
  Length,
  Matches,
  MaxLength,
} from 'class-validator';

const trimmed = (value: unknown): unknown => (typeof value === 'string' ? value.trim() : value);

/** Each once. */
function distinct(value: unknown): unknown {
  return Array.isArray(value) ? [...new Set(value.map(trimmed))] : value;
}

const ONE_LINE = /^\P{Cc}*$/u;

/** Labels of a run. Missing fields stay as they are. */
export class RunEdit implements Partial<RunLabels> {
  /** One line; empty removes it. */
  @IsOptional()
  @Transform(({ value }) => trimmed(value))
  @IsString()
  @MaxLength(100)
  @Matches(ONE_LINE, { message: 'name must be one line' })
  name?: string;

  @IsOptional()
  @IsString()
  @MaxLength(10_000)
  notes?: string;

  /** Replace the present ones. Each has 1 to 50 characters and no comma. */
  @IsOptional()
  @Transform(({ value }) => distinct(value))
  @IsArray()
  @ArrayMaxSize(20)
  @IsString({ each: true })
  @Length(1, 50, { each: true, message: 'each tag must have 1 to 50 characters' })
  @Matches(/^[^\p{Cc},]*$/u, { each: true, message: 'each tag must be one line without a comma' })
  tags?: string[];

  /** Lists leave an archived run out. */
  @IsOptional()
  @IsBoolean()
  archived?: boolean;
}

/** The fields that are present. @throws BadRequestException for a field that is null */
export function changesIn(edit: RunEdit): Partial<RunLabels> {
  const fields = Object.entries(edit).filter(([, value]) => value !== undefined);
  const empty = fields.find(([, value]) => value === null);
  if (empty !== undefined)
    throw new BadRequestException(`${empty[0]} must not be null: leave it out to keep it`);
  return Object.fromEntries(fields);
}

import { IsIn, IsOptional, IsString, Matches, MaxLength } from 'class-validator';

export const RUN_ORDERS = ['pause', 'continue', 'stop'] as const;

/** An order to a run. */
export class RunControl {
  /** `pause`: its episodes in progress end, and others do not start. `stop` ends the run for good. */
  @IsIn(RUN_ORDERS)
  order: (typeof RUN_ORDERS)[number];

  /** One line, shown with the run. */
  @IsOptional()
  @IsString()
  @MaxLength(500)
  @Matches(/^\P{Cc}*$/u, { message: 'reason must be one line' })
  reason?: string;
}

import { Type } from 'class-transformer';
import { IsDefined, IsOptional, ValidateBy, ValidateNested } from 'class-validator';
import { Trajectory } from './trajectory';

const SHA256 = /^[0-9a-f]{64}$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** sha256 of a PNG → its bytes in base64. */
function PngsByHash(): PropertyDecorator {
  return ValidateBy({
    name: 'isPngsByHash',
    validator: {
      validate: (value: unknown) =>
        typeof value === 'object' &&
        value !== null &&
        !Array.isArray(value) &&
        Object.entries(value).every(
          ([hash, png]) => SHA256.test(hash) && typeof png === 'string' && BASE64.test(png),
        ),
      defaultMessage: () => '$property must be an object of PNGs in base64 by their sha256',
    },
  });
}

/**
 * A line of a file of episodes (JSON Lines): an episode as published, with the screenshots of its prompts.
 * `ui-rl episodes` writes such files, `training.warm_start` reads them.
 */
export class StoredEpisode {
  @IsDefined()
  @ValidateNested()
  @Type(() => Trajectory)
  trajectory: Trajectory;

  /** sha256 → PNG in base64, of the screenshots in its prompts that no earlier line contains. */
  @IsOptional()
  @PngsByHash()
  images?: Record<string, string>;
}

import { bytesText } from '@ui-rl/api';
import type { StoreUse } from '@ui-rl/records';

/** Size and place of an embedded database and its screenshots. */
export function useText({ location, recordBytes, screenshotBytes }: StoreUse): string {
  const screenshots = screenshotBytes === null ? '' : `, screenshots ${bytesText(screenshotBytes)}`;
  return `records ${bytesText(recordBytes)}${screenshots} in ${location}`;
}

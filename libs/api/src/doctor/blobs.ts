import { BusError, inspectBucket, type S3Options } from '@ui-rl/bus';
import { failure, ok, type Check } from './finding';

/** The bucket for screenshots and checkpoints, where they are not stored at the broker. */
export const blobsCheck = (options: S3Options): Check => ({
  subject: 'blobs',
  look: async () => {
    try {
      return [ok(await inspectBucket(options))];
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      return [failure(error.message, 'correct BLOBS, AWS_ENDPOINT_URL_S3 or the credentials')];
    }
  },
});

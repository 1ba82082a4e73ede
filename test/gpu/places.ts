import { join } from 'node:path';

/** Root of the repository, or of the unpacked bundle, which has the same layout. */
export const root = join(__dirname, '../..');
export const shippedModel = join(root, 'deploy/local/model');
export const fixtures = join(root, 'test/golden/fixtures');

import { join } from 'node:path';

/** Of the repository, or of the folder that a bundle was unpacked to: what a run needs lies at the same places there. */
export const root = join(__dirname, '../..');
export const shippedModel = join(root, 'deploy/local/model');
export const fixtures = join(root, 'test/golden/fixtures');

import { CreateRecords1763596800000 } from './1763596800000-create-records';

/** In order; a new one goes to the end. */
export const migrations = [CreateRecords1763596800000];

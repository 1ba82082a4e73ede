/** Writes LICENSES.md from the packages that are installed. */
import { writeFileSync } from 'node:fs';
import { LICENSES_FILE, licenseTable } from './licenses';

writeFileSync(LICENSES_FILE, licenseTable());

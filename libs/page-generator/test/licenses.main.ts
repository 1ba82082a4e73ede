/** Writes LICENSES.md from the installed packages. */
import { writeFileSync } from 'node:fs';
import { LICENSES_FILE, licenseTable } from './licenses';

writeFileSync(LICENSES_FILE, licenseTable());

import { statfs } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { describeError } from '@ui-rl/retry';
import { chooseDevice } from '@ui-rl/engine';
import { probeFolder } from '../local/runs-folder';
import { bytesText } from '../report/sizes';
import { failure, ok, warning, type Check, type Finding } from './finding';

const GIB = 2 ** 30;
/** Enough for checkpoints, an hour of screenshots and the database of the default run. */
const COMFORTABLE_DISK = 5 * GIB;
const LEAST_DISK = GIB;
/** Needed by the six services with the bundled model, and a browser. */
const LEAST_MEMORY = 3 * GIB;

export const nodeCheck = (wanted: string): Check => ({
  subject: 'node',
  look: async () => {
    const { node } = process.versions;
    if (isInRange(node, wanted)) return [ok(`Node ${node}`)];
    return [failure(`Node ${node}, expected ${wanted}`, 'install another one: https://nodejs.org')];
  },
});

/** @param range in the syntax of `engines` in package.json: `^20.19.0 || >=24.11.0` */
export function isInRange(version: string, range: string): boolean {
  const [major, minor] = version.split('.').map(Number);
  return range.split('||').some((part) => {
    const [, sign, wantedMajor, wantedMinor] = /^(\^|>=)(\d+)\.(\d+)/.exec(part.trim()) ?? [];
    if (major === Number(wantedMajor)) return minor >= Number(wantedMinor);
    return sign === '>=' && major > Number(wantedMajor);
  });
}

/** Checks that each folder is writable and has free space. */
export const diskCheck = (folders: Readonly<Record<string, string>>): Check => ({
  subject: 'disk',
  look: () =>
    Promise.all(Object.entries(folders).map(([variable, folder]) => lookAtFolder(variable, folder))),
});

async function lookAtFolder(variable: string, folder: string): Promise<Omit<Finding, 'subject'>> {
  try {
    await probeFolder(folder);
  } catch (error) {
    return failure(`cannot write to ${folder}: ${describeError(error)}`, `set ${variable} to another folder`);
  }
  const { bavail, bsize } = await statfs(folder);
  const found = `${bytesText(bavail * bsize)} free in ${folder}`;
  const mend = `make room, or set ${variable} to a folder on another disk`;
  if (bavail * bsize < LEAST_DISK) return failure(found, mend);
  return bavail * bsize < COMFORTABLE_DISK ? warning(found, mend) : ok(found);
}

export const memoryCheck: Check = {
  subject: 'memory',
  look: async () => {
    const available = process.availableMemory();
    const cores = availableParallelism();
    const found = `${bytesText(available)} available, ${cores} ${cores === 1 ? 'core' : 'cores'}`;
    if (available >= LEAST_MEMORY) return [ok(found)];
    const mend = `end other programs: the default run needs ${bytesText(LEAST_MEMORY)}; another model: ui-rl models NAME`;
    return [warning(found, mend)];
  },
};

/** Reports the device that the `local` engine uses when the run file does not choose one. */
export const deviceCheck: Check = {
  subject: 'device',
  look: async () => {
    const { device, reason } = await chooseDevice('auto');
    return [ok(`${device}: ${reason}`)];
  },
};

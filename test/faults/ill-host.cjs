// Preloaded into services (NODE_OPTIONS=--require): simulates a wrong clock and exhausted memory, controlled by files
// in a folder. The product itself is unchanged.
const { readFileSync, renameSync } = require('node:fs');
const { join } = require('node:path');
const { isMainThread } = require('node:worker_threads');

/** Folder with `clock-SERVICE` (clock offset in milliseconds) and `memory-SERVICE` (exhaust the memory). */
const folder = process.env.ILL_HOST;
const service = /services\/([a-z-]+)\//.exec(process.argv[1] ?? '')?.[1];
const LOOK_MS = 100;

if (folder !== undefined && service !== undefined) {
  let shiftMs = 0;
  const readShift = () => {
    try {
      shiftMs = Number(readFileSync(join(folder, `clock-${service}`), 'utf8'));
    } catch {
      shiftMs = 0;
    }
  };

  const RealDate = Date;
  const now = RealDate.now;
  const shiftedNow = () => now() + shiftMs;
  globalThis.Date = new Proxy(RealDate, {
    get: (target, key) => (key === 'now' ? shiftedNow : Reflect.get(target, key)),
    apply: () => new RealDate(shiftedNow()).toString(),
    construct: (target, args) => (args.length === 0 ? new target(shiftedNow()) : new target(...args)),
  });
  const { timeOrigin } = performance;
  Object.defineProperty(performance, 'timeOrigin', { get: () => timeOrigin + shiftMs });

  const hoard = [];
  const useUpMemory = () => {
    for (;;) hoard.push(new Array(1e5).fill(hoard.length));
  };
  const lookAtMemory = () => {
    try {
      // Only the process that renames the file exhausts its memory; other processes of the service do not.
      renameSync(join(folder, `memory-${service}`), join(folder, `used-up-${service}`));
    } catch {
      return;
    }
    useUpMemory();
  };

  readShift();
  setInterval(() => {
    readShift();
    if (isMainThread) lookAtMemory();
  }, LOOK_MS).unref();
}

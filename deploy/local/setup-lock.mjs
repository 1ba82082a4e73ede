// Ensures that only one setup at a time changes node_modules, the cache and dist of a checkout.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cache } from './tools.mjs';

const POLL_MS = 500;

/** Waits until no other setup runs here. @returns a function that releases the lock */
export async function lockSetup() {
  mkdirSync(cache, { recursive: true });
  const path = join(cache, 'setup.lock');
  const own = `${path}.${process.pid}`;
  writeFileSync(own, String(process.pid));
  try {
    for (let isFirst = true; !take(own, path); isFirst = false) {
      if (isFirst) console.error(`Waiting for another set-up of this folder (process ${holder(path)}) …`);
      await sleep(POLL_MS);
    }
  } finally {
    rmSync(own, { force: true });
  }
  const release = () => {
    if (holder(path) === process.pid) rmSync(path, { force: true });
  };
  process.on('exit', release);
  return () => {
    process.off('exit', release);
    release();
  };
}

/**
 * Creating a link is atomic. The lock of a process that has ended is renamed first, which only one process can do.
 */
function take(own, path) {
  try {
    linkSync(own, path);
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  const pid = holder(path);
  if (pid === undefined || isRunning(pid)) return false;
  try {
    renameSync(path, `${own}.stale`);
    rmSync(`${own}.stale`);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  return false;
}

function holder(path) {
  try {
    return Number(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

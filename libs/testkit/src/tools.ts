import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(__dirname, '../../..');
const CACHE = process.env.UIRL_CACHE_DIR || join(ROOT, '.cache');
const INSTALL = 'run "npm run setup -- --tests", which finds or fetches all that the tests need';

/** What the set-up of the tests noted: where the programs are that npm does not bring. */
interface Tools {
  natsServer: string;
  chromium: string;
  /** folder of initdb and postgres */
  postgres: string;
  adb: string;
  /** folder of a Vulkan loader and a driver in software */
  vulkan: string;
  /** folder with the pages of MiniWoB++, as MINIWOB_DIR names it */
  miniwob: string;
}

function find(tool: keyof Tools): string {
  const note = join(CACHE, 'test-tools.json');
  if (!existsSync(note)) throw new Error(`${note} does not exist: ${INSTALL}`);
  const path = (JSON.parse(readFileSync(note, 'utf8')) as Partial<Tools>)[tool];
  if (path === undefined) throw new Error(`${note} does not name ${tool}: ${INSTALL}`);
  if (!existsSync(path)) throw new Error(`${note} names ${path}, which does not exist: ${INSTALL}`);
  return path;
}

/** Path of nats-server. Throws with what to do where there is none, as all of these do. */
export function findNatsServer(): string {
  return process.env.NATS_SERVER_BIN || find('natsServer');
}

/** Path of a Chromium. */
export function findChromium(): string {
  return process.env.CHROMIUM_BIN || find('chromium');
}

/** Path of adb. */
export function findAdb(): string {
  return find('adb');
}

/** Folder of PostgreSQL's initdb and postgres. */
export function findPostgres(): string {
  return find('postgres');
}

/** Folder with the pages of MiniWoB++, as MINIWOB_DIR names it. */
export function findMiniwob(): string {
  return process.env.MINIWOB_DIR || find('miniwob');
}

/**
 * Environment of a process in which WebGPU finds a Vulkan device in software, by which it can be tested without a GPU. It
 * must be set when the process starts.
 * @param runtimeDir a folder of mode 0700
 */
export function softwareVulkan(runtimeDir: string): Record<string, string> {
  const folder = find('vulkan');
  return {
    LD_LIBRARY_PATH: folder,
    VK_DRIVER_FILES: join(folder, 'vk_swiftshader_icd.json'),
    XDG_RUNTIME_DIR: runtimeDir,
  };
}

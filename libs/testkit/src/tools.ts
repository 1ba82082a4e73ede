import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(__dirname, '../../..');
const CACHE = process.env.UIRL_CACHE_DIR || join(ROOT, '.cache');
const INSTALL = 'run "npm run setup -- --tests", which finds or fetches all that the tests need';

/** The locations of programs outside of npm, recorded by the test setup. */
interface Tools {
  natsServer: string;
  chromium: string;
  /** folder of initdb and postgres */
  postgres: string;
  adb: string;
  /** folder of a Vulkan loader and a software driver */
  vulkan: string;
  /** folder of the MiniWoB++ pages, as in MINIWOB_DIR */
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

/** Path of nats-server. All of these functions throw with instructions if the program is missing. */
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

/** Folder of the MiniWoB++ pages, as in MINIWOB_DIR. */
export function findMiniwob(): string {
  return process.env.MINIWOB_DIR || find('miniwob');
}

/**
 * Environment of a process in which WebGPU finds a software Vulkan device, for tests without a GPU. It must be set
 * when the process starts.
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

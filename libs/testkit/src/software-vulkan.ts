import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where Chromium brings its Vulkan driver in software: packages of distributions, and Playwright's downloads. */
const drivers = [
  '/usr/lib/chromium',
  '/usr/lib/chromium-browser',
  '/opt/google/chrome',
  ...foldersAtHome('.cache/ms-playwright/chromium*/chrome*'),
];
const libraries = [
  '/usr/lib/x86_64-linux-gnu',
  '/usr/lib/aarch64-linux-gnu',
  '/usr/lib64',
  '/usr/lib',
  '/lib64',
];

/** Folders below the home directory whose path matches, with `*` for any part of a name. */
function foldersAtHome(pattern: string): string[] {
  return pattern.split('/').reduce<string[]>(
    (folders, part) => {
      const matcher = new RegExp(`^${part.replaceAll('.', '\\.').replaceAll('*', '.*')}$`);
      return folders.flatMap((folder) =>
        existsSync(folder)
          ? readdirSync(folder, { withFileTypes: true })
              .filter((entry) => entry.isDirectory() && matcher.test(entry.name))
              .map((entry) => join(folder, entry.name))
          : [],
      );
    },
    [homedir()],
  );
}

/** A Vulkan device without a GPU, by which WebGPU can be tested anywhere. */
export interface SoftwareVulkan {
  /**
   * Environment of a process in which WebGPU finds it; it must be set when the process starts.
   * @param runtimeDir a folder of mode 0700
   */
  environment: (runtimeDir: string) => Record<string, string>;
  /** what this machine lacks for it; empty where it can be used */
  missing: string[];
}

export function softwareVulkan(): SoftwareVulkan {
  const driver = drivers
    .map((folder) => join(folder, 'vk_swiftshader_icd.json'))
    .find((path) => existsSync(path));
  const loader = libraries.map((folder) => join(folder, 'libvulkan.so.1')).find((path) => existsSync(path));
  const missing = [
    ...(driver === undefined ? ['no vk_swiftshader_icd.json (package chromium)'] : []),
    ...(loader === undefined ? ['no libvulkan.so.1 (package libvulkan1)'] : []),
  ];
  return {
    missing,
    environment: (runtimeDir) => ({ VK_DRIVER_FILES: driver ?? '', XDG_RUNTIME_DIR: runtimeDir }),
  };
}

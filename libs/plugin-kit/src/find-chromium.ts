import { existsSync } from 'node:fs';

/** Paths at which distributions and vendors install Chromium and Chrome. */
const SYSTEM_PATHS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/local/bin/chromium',
  '/snap/bin/chromium',
  '/usr/bin/google-chrome-stable',
  '/usr/bin/google-chrome',
  '/opt/google/chrome/chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

const INSTALL = 'npx playwright install --with-deps chromium';

/**
 * The browser to use: the configured one (`named`), the one that Playwright `downloaded` (its `executablePath()`,
 * which may not exist), or the system's.
 *
 * @throws Error that explains how to install one
 */
export function findChromium(named: string | undefined, downloaded: string): string {
  if (named !== undefined) {
    if (existsSync(named)) return named;
    throw new Error(`there is no browser at ${named} (CHROMIUM_BIN); correct it, or install one: ${INSTALL}`);
  }
  const found = [downloaded, ...SYSTEM_PATHS].find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new Error(
    `Chromium is not installed. Install it with\n  ${INSTALL}\nor set CHROMIUM_BIN to the path of an installed one`,
  );
}

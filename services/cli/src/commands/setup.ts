import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { projectRoot } from '@ui-rl/settings';
import { Command } from 'commander';

/** What fetches programs: in JavaScript, since the set-up of a clone runs it before anything is built. */
interface Tools {
  ensureNatsServer: () => string;
  ensureChromium: () => string;
}

export function setupCommand(): Command {
  return new Command('setup')
    .description(
      'fetch the programs that npm does not bring, nats-server and Chromium, where they are missing',
    )
    .option('--json', 'where they are, as JSON')
    .addHelpText(
      'after',
      '\nSays what it fetches and how, asks nothing, and does nothing where both are there. quickstart does the same before it begins.\n' +
        'On Debian and Ubuntu they are packages of the distribution, which has signed them: nats-server is unpacked into UIRL_CACHE_DIR and needs\n' +
        'no root; Chromium is installed by root, and comes from Playwright for others.',
    )
    .action(async ({ json = false }: { json?: boolean }) => {
      const { ensureNatsServer, ensureChromium } = await loadTools();
      const programs = { natsServer: ensureNatsServer(), chromium: ensureChromium() };
      if (json) console.log(JSON.stringify(programs, null, 2));
      else console.log(`nats-server  ${programs.natsServer}\nchromium     ${programs.chromium}`);
    });
}

async function loadTools(): Promise<Tools> {
  const file = join(projectRoot, 'deploy/local/tools.mjs');
  if (!existsSync(file)) {
    throw new Error(`there is no ${file}: the images of containers bring their programs (ENV_PACKAGES)`);
  }
  return (await import(pathToFileURL(file).href)) as Tools;
}

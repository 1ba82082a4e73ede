import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { projectRoot } from '@ui-rl/settings';
import { Command } from 'commander';

/** Downloads programs and pages. In JavaScript, because the set-up of a clone runs it before the build. */
interface Tools {
  ensureNatsServer: () => string;
  ensureChromium: () => string;
}

interface Miniwob {
  ensureMiniwob: () => string;
}

export function setupCommand(): Command {
  return new Command('setup')
    .description('install missing programs: nats-server and Chromium')
    .option('--miniwob', 'also fetch the pages of MiniWoB++ 1.1.0, for the task source miniwob')
    .option('--json', 'print the paths as JSON')
    .addHelpText(
      'after',
      '\nSays what it fetches and how, asks nothing, and does nothing where all are there. quickstart fetches the programs before it begins.\n' +
        'On Debian and Ubuntu they are packages of the distribution, which has signed them: nats-server is unpacked into UIRL_CACHE_DIR and needs\n' +
        'no root; Chromium is installed by root, and comes from Playwright for others.\n' +
        "The pages of MiniWoB++ come from Python's package index (by pip where there is one; PIP_INDEX_URL names another index), else by git,\n" +
        'and are unpacked into UIRL_CACHE_DIR where their digest is the expected one. MINIWOB_DIR names your own checkout instead.',
    )
    .action(async ({ json = false, miniwob = false }: { json?: boolean; miniwob?: boolean }) => {
      const { ensureNatsServer, ensureChromium } = await load<Tools>('tools');
      const fetched = {
        natsServer: ensureNatsServer(),
        chromium: ensureChromium(),
        ...(miniwob ? { miniwob: (await load<Miniwob>('miniwob')).ensureMiniwob() } : {}),
      };
      if (json) console.log(JSON.stringify(fetched, null, 2));
      else console.log(linesOf(fetched));
    });
}

function linesOf({ natsServer, ...rest }: { natsServer: string; [name: string]: string }): string {
  const lines = Object.entries({ 'nats-server': natsServer, ...rest });
  return lines.map(([name, path]) => `${name.padEnd(11)}  ${path}`).join('\n');
}

async function load<T>(name: string): Promise<T> {
  const file = join(projectRoot, 'deploy/local', `${name}.mjs`);
  if (!existsSync(file)) {
    throw new Error(`there is no ${file}: the images of containers bring their programs (ENV_PACKAGES)`);
  }
  return (await import(pathToFileURL(file).href)) as T;
}

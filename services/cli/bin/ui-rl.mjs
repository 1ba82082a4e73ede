#!/usr/bin/env node
// The command line, told where the programs are that npm does not bring. `quickstart` fetches those that are missing.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import {
  ensureChromium,
  ensureNatsServer,
  findChromium,
  findNatsServer,
} from '../../../deploy/local/tools.mjs';

const main = new URL('../../../dist/services/cli/src/main.js', import.meta.url);
const [, , verb, ...words] = process.argv;

/** A user's run file may need other programs, and help needs none. */
const fetches = verb === 'quickstart' && !words.some((word) => /^(-h|--help|--config(=.*)?)$/.test(word));

function tell(variable, path) {
  if (path !== undefined) process.env[variable] ??= path;
}

function tellOfPrograms() {
  const hasBroker = Boolean(process.env.NATS_URL || process.env.NATS_CONTEXT);
  tell('NATS_SERVER_BIN', fetches && !hasBroker ? ensureNatsServer() : findNatsServer());
  tell('CHROMIUM_BIN', fetches ? ensureChromium() : findChromium());
  if (fetches) process.env.UIRL_SETUP_SECONDS ??= String(performance.now() / 1000);
}

if (!existsSync(main)) {
  console.error('ui-rl is not built yet. Run: npm run setup');
  process.exit(1);
}
try {
  tellOfPrograms();
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
createRequire(import.meta.url)(fileURLToPath(main));

#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { findChromium, findNatsServer } from '../../../deploy/local/tools.mjs';

const main = new URL('../../../dist/services/cli/src/main.js', import.meta.url);
if (!existsSync(main)) {
  console.error('ui-rl is not built yet. Run: npm run setup');
  process.exit(1);
}
try {
  process.env.NATS_SERVER_BIN ??= findNatsServer() ?? 'nats-server';
  const chromium = findChromium();
  if (chromium !== undefined) process.env.CHROMIUM_BIN ??= chromium;
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
createRequire(import.meta.url)(main.pathname);

#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';

const main = new URL('../../../dist/services/cli/src/main.js', import.meta.url);
if (!existsSync(main)) {
  console.error('ui-rl is not built yet. Run: npm run setup');
  process.exit(1);
}
createRequire(import.meta.url)(main.pathname);

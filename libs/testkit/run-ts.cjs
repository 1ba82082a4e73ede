// Lets a child process of a test run TypeScript sources: `node run-ts.cjs file.ts`.
const { resolve } = require('node:path');
require('../plugin-kit/src/threads/require-sources.cjs');

// Makes the arguments look as if Node had been called with the file.
process.argv.splice(1, 1);
require(resolve(process.argv[1]));

// Runs a thread's entry without a build. Only for tests, which run the sources.
const { workerData } = require('node:worker_threads');
require('./require-sources.cjs');

require(workerData.entry);

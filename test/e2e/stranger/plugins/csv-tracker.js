// Writes one line per step to a table.
const { appendFileSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');

module.exports.default = {
  kind: 'tracker',
  name: 'csv',
  description: 'a table of chosen metrics',
  options: {
    columns: { type: 'list', default: ['optim/loss'], description: 'metrics, one per column' },
    file: { type: 'text', default: 'metrics.csv', description: "file in the run's folder" },
  },
  create({ columns, file }, { runDir }) {
    const path = join(runDir, file);
    writeFileSync(path, `step,${columns.join(',')}\n`);
    return {
      async step({ step, metrics }) {
        appendFileSync(path, `${[step, ...columns.map((name) => metrics[name] ?? '')].join(',')}\n`);
      },
      async evaluation({ step, stage, set, successRate }) {
        appendFileSync(path, `# ${stage} of ${set} at step ${step}: ${successRate}\n`);
      },
      async close() {},
    };
  },
};

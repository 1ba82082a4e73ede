/**
 * Writes hashes of the sentences of MiniWoB++ and of the demo phone, which no text of the generator may contain:
 * `node libs/testkit/run-ts.cjs libs/page-generator/test/provenance.main.ts <miniwob/html of PyPI's miniwob 1.1.0>`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { folderHashes } from './sentences';

const [miniwob] = process.argv.slice(2);
const phone = join(__dirname, '../../../plugins/task-source-demo');
const hashes = [
  ...folderHashes(join(miniwob, 'miniwob'), /\.html$/),
  ...folderHashes(phone, /(\.html|(?<!\.spec)\.ts)$/),
];
writeFileSync(join(__dirname, 'foreign-sentences.txt'), `${[...new Set(hashes)].sort().join('\n')}\n`);
console.log(`${hashes.length} sentences`);

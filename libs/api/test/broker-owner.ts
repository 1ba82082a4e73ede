// A process with a private broker that tests kill: `broker-owner.ts <nats-server> <folder> temporary|kept`.
import { join } from 'node:path';
import { startLocalNats } from '../src/local/nats-server';

const [binary, dir, kind] = process.argv.slice(2);

void startLocalNats(binary, join(dir, 'nats'), join(dir, 'nats.log'), console.error, {
  temporaryDir: kind === 'temporary' ? dir : undefined,
}).then(({ url, process: { pid } }) => console.log(JSON.stringify({ url, pid })));

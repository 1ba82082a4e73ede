// Makes the passwords of a Compose set-up: users of the broker with few rights, the database's, the token of the monitor's page. What is
// there already stays.
//   node deploy/docker/secrets.mjs [FOLDER]
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const deploy = resolve(import.meta.dirname, '..');
const folder = resolve(process.argv[2] ?? join(deploy, 'docker/secrets'));
/** Where the broker is in the network of compose.yaml. */
const BROKER = 'nats://nats:4222';

// Nobody else of this machine gets into the folder. In a container there is one of its files, which whatever user runs there may read.
mkdirSync(folder, { recursive: true });
chmodSync(folder, 0o700);

const nats = join(folder, 'nats');
if (!existsSync(join(nats, 'passwords.conf'))) {
  const args = [join(deploy, 'nats/credentials.mjs'), nats, BROKER];
  const { status } = spawnSync(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) process.exit(1);
}
chmodSync(nats, 0o755);
for (const name of readdirSync(nats)) chmodSync(join(nats, name), 0o444);

for (const name of ['postgres-password', 'monitor-token']) {
  const file = join(folder, name);
  if (!existsSync(file)) writeFileSync(file, randomBytes(24).toString('base64url'), { flag: 'wx' });
  chmodSync(file, 0o444);
}
console.log(`secrets in ${folder}: of the broker's users, of the database, and the monitor's token`);

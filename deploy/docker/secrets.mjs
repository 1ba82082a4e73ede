// Creates the passwords of a Compose setup: broker users with limited permissions, the database, the token of the
// monitor's page. Keeps existing ones.
//   node deploy/docker/secrets.mjs [FOLDER]
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const deploy = resolve(import.meta.dirname, '..');
const folder = resolve(process.argv[2] ?? join(deploy, 'docker/secrets'));
/** Address of the broker in the network of compose.yaml. */
const BROKER = 'nats://nats:4222';

// No other user of this machine can access the folder. A container mounts single files of it, which any user in the
// container may read.
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

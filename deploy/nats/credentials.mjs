// Writes what a broker with users of few rights needs into a folder: passwords, and a context file for each user.
//   node deploy/nats/credentials.mjs FOLDER [nats://host:port]
import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const [folder, url = 'nats://127.0.0.1:4222'] = process.argv.slice(2);
if (folder === undefined) {
  console.error('expected a folder: node deploy/nats/credentials.mjs FOLDER [nats://host:port]');
  process.exit(1);
}

const accounts = readFileSync(join(here, 'accounts.conf'), 'utf8');
const users = [...accounts.matchAll(/user: "(\S+)", password: \$(\w+)/g)].map(([, name, variable]) => ({
  ...{ name, variable, password: randomBytes(24).toString('hex') },
}));
const [, prefix] = /to: "([^"]+)\.INFO"/.exec(accounts);

mkdirSync(folder, { recursive: true, mode: 0o700 });
const passwords = join(folder, 'passwords.conf');
if (existsSync(passwords)) {
  console.error(`${passwords} is there already: remove it for new passwords`);
  process.exit(1);
}
for (const file of ['nats.conf', 'accounts.conf']) copyFileSync(join(here, file), join(folder, file));
const secret = { mode: 0o600, flag: 'wx' };
writeFileSync(
  passwords,
  users.map(({ variable, password }) => `${variable}: "${password}"\n`).join(''),
  secret,
);
for (const { name, password } of users) {
  const context = {
    description: `ui-rl, as ${name}`,
    ...{ url, user: name, password },
    ...{ inbox_prefix: `_INBOX.${name}`, jetstream_api_prefix: prefix },
  };
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(context, null, 2)}\n`, secret);
}
console.log(`nats-server -c ${resolve(folder, 'nats.conf')}`);
console.log(
  `NATS_CONTEXT=${resolve(folder, '<user>.json')} for each of ${users.map(({ name }) => name).join(', ')}`,
);

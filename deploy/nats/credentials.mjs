// Writes the files for brokers whose users have limited permissions into a folder: configuration, passwords, and a
// context file for each user.
//   node deploy/nats/credentials.mjs FOLDER [nats://host:port[,nats://host:port …]] [--leaf user,user …]
//     [--leaf-url tls://host:port[,…]]
// Several addresses are those of a cluster. --leaf writes FOLDER/leaf, for a remote leaf-node broker with these
// users. --leaf-url is the address at which the leaf node connects to the cluster, if it is not port 7422 of the
// cluster's addresses: a load balancer, with TLS.
import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/** Ports of routes between brokers and of leaf nodes, relative to the client port: 6222 and 7422. */
const ROUTE_PORT = 2000;
const LEAF_PORT = 3200;
const DEFAULT_PORT = 4222;
const SECRET = { mode: 0o600, flag: 'wx' };

const here = dirname(fileURLToPath(import.meta.url));
const accounts = readFileSync(join(here, 'accounts.conf'), 'utf8');
const [, prefix] = /to: "([^"]+)\.INFO"/.exec(accounts);

function refuse(message) {
  console.error(message);
  process.exit(1);
}

function newPassword() {
  return randomBytes(24).toString('hex');
}

/** The users of accounts.conf, each with a new password. */
function makeUsers() {
  return [...accounts.matchAll(/user: "(\S+)", password: \$(\w+), (permissions: \{.*\}) \}/g)].map(
    ([, name, variable, permissions]) => ({ name, variable, permissions, password: newPassword() }),
  );
}

/** Host and port of a broker, with the port shifted by `offset`. */
function placeOf(url, offset = 0) {
  const { hostname, port } = new URL(url);
  return `${hostname}:${(port === '' ? DEFAULT_PORT : Number(port)) + offset}`;
}

function nameOf(url, index) {
  const [label] = new URL(url).hostname.split('.');
  return /^[a-z]/i.test(label) ? label : `broker-${index + 1}`;
}

/** For the `nats` command, and for services (NATS_CONTEXT). */
function writeContext(folder, { name, password }, url) {
  const context = {
    description: `ui-rl, as ${name}`,
    ...{ url, user: name, password },
    ...{ inbox_prefix: `_INBOX.${name}`, jetstream_api_prefix: prefix },
  };
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(context, null, 2)}\n`, SECRET);
}

function writeBrokers(folder, urls, users) {
  const cluster = urls.length > 1;
  for (const file of [cluster ? 'cluster.conf' : 'nats.conf', 'accounts.conf'])
    copyFileSync(join(here, file), join(folder, file));
  const passwords = users.map(({ variable, password }) => `${variable}: "${password}"\n`);
  if (cluster) {
    const password = newPassword();
    passwords.push(`cluster_password: "${password}"\n`);
    const routes = urls.map((url) => `  "nats://broker:${password}@${placeOf(url, ROUTE_PORT)}"\n`);
    writeFileSync(join(folder, 'routes.conf'), `routes: [\n${routes.join('')}]\n`, SECRET);
  }
  writeFileSync(join(folder, 'passwords.conf'), passwords.join(''), SECRET);
  for (const user of users) writeContext(folder, user, urls.join(','));
}

function accountOf({ name }) {
  return `UIRL_${name.replaceAll('-', '_').toUpperCase()}`;
}

/** Exports and imports of accounts.conf between users behind the leaf node: their requests stay on that node. */
function sharedBy(account, others) {
  const [, block] = new RegExp(`^  ${account} \\{$([^]*?)^  \\}$`, 'm').exec(accounts);
  const among = (names) => names.split(', ').filter((name) => others.includes(name));
  const exports = [...block.matchAll(/^ +(\{ (?:service|stream): "[^"]+",?.*accounts: \[)(.*)\] \}$/gm)]
    .filter(([, , names]) => among(names).length > 0)
    .map(([, start, names]) => `${start}${among(names).join(', ')}] }`);
  const imports = [...block.matchAll(/^ +(\{ (?:service|stream): \{ account: (\w+),.*\})$/gm)]
    .filter(([, , from]) => others.includes(from))
    .map(([, line]) => line);
  const list = (lines) => `[\n${lines.map((line) => `      ${line}\n`).join('')}    ]`;
  return `exports: ${list(exports)}\n    imports: ${list(imports)}`;
}

/** Addresses at which a leaf node connects to brokers: with the scheme, without the user. */
function leafPlaces(urls, leafUrls) {
  if (leafUrls.length === 0) return urls.map((url) => ['nats-leaf', placeOf(url, LEAF_PORT)]);
  return leafUrls.map((url) => {
    const { protocol, hostname, port } = new URL(url);
    return [protocol.slice(0, -1), `${hostname}:${port === '' ? DEFAULT_PORT + LEAF_PORT : port}`];
  });
}

/** Each user's leaf connection is bound to the account of that user, which has the same name on both sides. */
function writeLeaf(folder, places, users) {
  mkdirSync(folder, { mode: 0o700 });
  copyFileSync(join(here, 'leaf.conf'), join(folder, 'leaf.conf'));
  const names = users.map(accountOf);
  const own = users.map(
    (user) => `  ${accountOf(user)} {
    users: [ { user: "${user.name}", password: "${user.password}", ${user.permissions} } ]
    ${sharedBy(accountOf(user), names)}
  }\n`,
  );
  const remotes = users.map((user) => {
    const there = places.map(([scheme, place]) => `"${scheme}://${user.name}:${user.password}@${place}"`);
    // Without it the address tls:// has no effect: the remote server would decide whether TLS is used.
    const tls = places.some(([scheme]) => scheme === 'tls') ? ', tls: { timeout: 5 }' : '';
    return `  { account: ${accountOf(user)}, urls: [${there.join(', ')}]${tls} }\n`;
  });
  writeFileSync(
    join(folder, 'remotes.conf'),
    `accounts {\n${own.join('')}}\nleafnodes { remotes: [\n${remotes.join('')}] }\n`,
    SECRET,
  );
  for (const user of users) writeContext(folder, user, 'nats://127.0.0.1:4222');
}

const { positionals, values } = parseArgs({
  options: { leaf: { type: 'string' }, 'leaf-url': { type: 'string' } },
  allowPositionals: true,
});
const [folder, addresses = 'nats://127.0.0.1:4222'] = positionals;
if (folder === undefined)
  refuse(
    'expected a folder: node deploy/nats/credentials.mjs FOLDER [nats://host:port,…] [--leaf actor,env]',
  );
const urls = addresses.split(',');
const odd = urls.find((url) => !/^(nats|tls):\/\/[^/@\s]+$/.test(url));
if (odd !== undefined) refuse(`invalid broker address ${odd}: expected nats://host:port`);
const users = makeUsers();
const behindLeaf = values.leaf?.split(',') ?? [];
const unknown = behindLeaf.find((name) => !users.some((user) => user.name === name));
if (unknown !== undefined)
  refuse(`--leaf: there is no user ${unknown}: expected some of ${users.map(({ name }) => name).join(', ')}`);
if (behindLeaf.length > 0 && urls.length === 1)
  refuse('--leaf: a single broker (nats.conf) takes no leaf nodes: name the addresses of a cluster');
const leafUrls = values['leaf-url']?.split(',') ?? [];
const oddLeaf = leafUrls.find((url) => !/^(nats-leaf|tls):\/\/[^/@\s]+$/.test(url));
if (oddLeaf !== undefined)
  refuse(`--leaf-url: invalid leaf node address ${oddLeaf}: expected tls://host:port, or nats-leaf://`);
if (leafUrls.length > 0 && behindLeaf.length === 0)
  refuse('--leaf-url says where a leaf node calls: name its users by --leaf actor,env');

mkdirSync(folder, { recursive: true, mode: 0o700 });
const passwords = join(folder, 'passwords.conf');
if (existsSync(passwords)) refuse(`${passwords} is there already: remove it for new passwords`);
writeBrokers(folder, urls, users);
if (urls.length === 1) console.log(`nats-server -c ${resolve(folder, 'nats.conf')}`);
else
  for (const [index, url] of urls.entries())
    console.log(
      `${placeOf(url)}: nats-server -c ${resolve(folder, 'cluster.conf')} -n ${nameOf(url, index)}`,
    );
if (behindLeaf.length > 0) {
  const leaf = join(folder, 'leaf');
  writeLeaf(
    leaf,
    leafPlaces(urls, leafUrls),
    users.filter(({ name }) => behindLeaf.includes(name)),
  );
  console.log(`elsewhere: nats-server -c ${resolve(leaf, 'leaf.conf')}`);
}
console.log(
  `NATS_CONTEXT=${resolve(folder, '<user>.json')} for each of ${users.map(({ name }) => name).join(', ')}`,
);

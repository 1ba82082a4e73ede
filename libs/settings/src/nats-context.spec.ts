import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { keptSecret, LOCAL_CONTEXT, readCliSettings, readServiceSettings, writePrivateFile } from './index';

const CONTEXT = { url: 'nats://127.0.0.1:4711', user: 'ui-rl', password: 'hush' };

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nats-context-'));
  file = join(folder, 'mine.json');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The connection options of a process with that environment; the folder of all runs is `folder`. */
const nats = (env: Record<string, string> = {}) =>
  readServiceSettings('actor', { UIRL_RUNS_DIR: folder, ...env }).nats;

function write(context: object, path = file): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify(context));
}

describe('a context file of the nats command', () => {
  it('says where the broker is and who we are', () => {
    write({ description: 'of the lab', ...CONTEXT, nkey: '', creds: '', ca: '/ca.pem' });
    expect(nats({ NATS_CONTEXT: file })).toMatchObject({
      servers: ['nats://127.0.0.1:4711'],
      user: 'ui-rl',
      password: 'hush',
      contextFile: file,
      tls: { caFile: '/ca.pem' },
    });
    expect(readCliSettings({ NATS_CONTEXT: file }).hasBroker).toBe(true);
  });

  it('gives way to what the environment says, without mixing two credentials', () => {
    write({ ...CONTEXT, url: 'nats://a:1,nats://b:2' });
    expect(nats({ NATS_CONTEXT: file }).servers).toEqual(['nats://a:1', 'nats://b:2']);
    expect(nats({ NATS_CONTEXT: file, NATS_URL: 'nats://c:3' })).toMatchObject({
      servers: ['nats://c:3'],
      user: 'ui-rl',
    });
    const own = nats({ NATS_CONTEXT: file, NATS_TOKEN: 't' });
    expect(own).toMatchObject({ token: 't' });
    expect(own.password).toBeUndefined();
  });

  it.each([
    [{ ...CONTEXT, nkey: '/seed' }, /names nkey: expected nothing but url/],
    [{ ...CONTEXT, password: 4 }, /password in .*mine\.json is "number", expected a text/],
    [[CONTEXT], /must hold a JSON object/],
  ])('that cannot be followed ends the start, without telling its secret: %j', (context, message) => {
    write(context);
    expect(() => nats({ NATS_CONTEXT: file })).toThrow(message);
    expect(() => nats({ NATS_CONTEXT: file })).not.toThrow(/hush/);
  });

  it('that is not there, or no JSON, is named', () => {
    expect(() => nats({ NATS_CONTEXT: file })).toThrow(`there is no context file ${file}`);
    writeFileSync(file, 'password: hush');
    expect(() => nats({ NATS_CONTEXT: file })).toThrow(`${file} cannot be read: it is not JSON`);
    expect(() => nats({ NATS_CONTEXT: file })).not.toThrow(/hush/);
  });
});

describe('the broker of ui-rl up', () => {
  const found = { servers: ['nats://127.0.0.1:4711'], user: 'ui-rl', password: 'hush' };

  it('is found by every process over the same runs', () => {
    expect(nats()).toMatchObject({ servers: ['nats://127.0.0.1:4222'] });
    write(CONTEXT, join(folder, LOCAL_CONTEXT));
    expect(nats()).toMatchObject(found);
    expect(nats({ NATS_URL: 'nats://localhost:4711' })).toMatchObject({ user: 'ui-rl', password: 'hush' });
    expect(readCliSettings({ UIRL_RUNS_DIR: folder }).hasBroker).toBe(false);
  });

  it('is not told to others, nor is its password', () => {
    write(CONTEXT, join(folder, LOCAL_CONTEXT));
    for (const NATS_URL of ['nats://lab:4711', 'nats://127.0.0.1:4222', 'nats://me:mine@127.0.0.1:4711'])
      expect(nats({ NATS_URL }).password).toBeUndefined();
    expect(nats({ NATS_TOKEN: 't' })).toMatchObject({ servers: ['nats://127.0.0.1:4222'], token: 't' });
    write({ url: 'nats://lab:1' });
    expect(nats({ NATS_CONTEXT: file }).password).toBeUndefined();
  });
});

describe('private files', () => {
  it('are for this user alone, also where a file was there', () => {
    writeFileSync(file, 'old', { mode: 0o644 });
    writePrivateFile(file, 'new');
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('keep a secret, unless others could read it', () => {
    const secret = keptSecret(file);
    expect(secret).toMatch(/^[\w-]{32}$/);
    expect(keptSecret(file)).toBe(secret);
    rmSync(file);
    writeFileSync(file, secret, { mode: 0o644 });
    expect(keptSecret(file)).not.toBe(secret);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });
});

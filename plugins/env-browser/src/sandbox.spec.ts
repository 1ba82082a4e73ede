import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { descendants } from '@ui-rl/testkit';
import { codeOf, homeOfBrowser, Lab, programOf, WebServer, withoutNamespaces } from '../test/support';

const SECRET = 'what-only-the-service-knows';
const PAGE = '<title>local</title>';

const chromiums = () => descendants(process.pid).filter(({ command }) => command.includes('chromium'));
const renderer = () => chromiums().find(({ command }) => command.includes('--type=renderer'))!;
const statusOf = (pid: number, name: string) =>
  new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'latin1'))![1];

/** Whether this kernel allows user namespaces for unprivileged users. */
function hasNamespaces(): boolean {
  const asUser = process.getuid?.() === 0 ? ['setpriv', '--reuid=61184', '--clear-groups'] : ['env'];
  try {
    execFileSync(asUser[0], [...asUser.slice(1), 'unshare', '--user', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

describe('the confinement of a browser', () => {
  let lab: Lab;
  let web: WebServer;
  beforeEach(async () => {
    lab = new Lab();
    lab.page('p', PAGE);
    web = await WebServer.start((_request, response) => response.end('<title>web</title>'));
  });
  afterEach(async () => {
    await lab.stop();
    await web.stop();
  });

  async function openRaw(options: Record<string, unknown>) {
    const task = { description: 't', environment: { kind: 'browser', options } };
    return lab.sessions.open({ task, seed: 1, leaseMs: 5000, deadlineMs: 10_000 });
  }

  it('inherits nothing of the environment of its service', async () => {
    process.env.UIRL_SECRET_OF_A_TEST = SECRET;
    process.env.DATABASE_URL = `postgresql://u:${SECRET}@127.0.0.1/db`;
    try {
      await lab.start();
      await lab.open({ page: 'p' });
    } finally {
      delete process.env.UIRL_SECRET_OF_A_TEST;
      delete process.env.DATABASE_URL;
    }
    const environments = chromiums().map(({ pid }) => readFileSync(`/proc/${pid}/environ`, 'utf8'));
    expect(environments.length).toBeGreaterThan(2);
    for (const environment of environments) expect(environment).not.toContain(SECRET);
    expect(homeOfBrowser()).toMatch(/uirl-browser-/);
  });

  it('is never root, and pages run in the sandbox where the kernel has one', async () => {
    await lab.start();
    await lab.open({ page: 'p' });
    expect(chromiums().map(({ pid }) => statusOf(pid, 'Uid'))).not.toContain('0');
    const { pid } = renderer();
    const isConfined = readlinkSync(`/proc/${pid}/ns/user`) !== readlinkSync('/proc/self/ns/user');
    const isFiltered = statusOf(pid, 'Seccomp') === '2';
    expect({ isConfined, isFiltered }).toEqual({ isConfined: hasNamespaces(), isFiltered: hasNamespaces() });
    expect(lab.log.some((line) => line.includes('without its sandbox'))).toBe(!hasNamespaces());
  });

  it('without a sandbox shows pages from local folders, says so, and shows no page of the web', async () => {
    lab.programs.chromium = withoutNamespaces(lab.folder);
    await lab.start({ private_origins: [web.origin] });
    expect(lab.log).toEqual([
      expect.stringMatching(
        /^warn Chromium runs without its sandbox; only pages from local folders are shown\. \S+ does not start: it (finds no sandbox|cannot use its sandbox helper).*chromium-sandbox\)/,
      ),
    ]);
    expect(await (await lab.open({ page: 'p' })).close()).toMatchObject({ title: 'local' });
    expect(chromiums().map(({ pid }) => statusOf(pid, 'Uid'))).not.toContain('0');
    const refusal = await openRaw({ url: web.origin });
    expect(refusal).toMatchObject({
      error: { code: 'no_sandbox', message: expect.stringMatching(/sandbox: off/) as string },
    });
    expect(codeOf(await openRaw({ page: 'p', allowed_origins: [web.origin] }))).toBe('no_sandbox');
    expect(web.asked).toEqual([]);
  });

  it('without a sandbox shows the web where the run says so in so many words', async () => {
    lab.programs.chromium = withoutNamespaces(lab.folder);
    await lab.start({ sandbox: 'off', private_origins: [web.origin] });
    expect(lab.log).toEqual([expect.stringMatching(/^warn Chromium runs without its sandbox; as .*says/)]);
    expect(await (await lab.open({ url: web.origin })).close()).toMatchObject({ title: 'web' });
    expect(chromiums().map(({ pid }) => statusOf(pid, 'Uid'))).not.toContain('0');
  });

  it.each([
    ['No usable sandbox!', /does not start: it finds no sandbox: install/],
    [
      'The SUID sandbox helper binary was found, but is not configured correctly.',
      /does not start: it cannot use its sandbox helper, which must belong to root and have mode 4755/,
    ],
  ])('names the missing sandbox, however much the browser says afterwards: %s', async (text, reason) => {
    const said = `echo "${text}" >&2; head -c 2000 /dev/zero | tr '\\0' x >&2; exit 1;`;
    lab.programs.chromium = programOf(lab.folder, `case "$*" in *--no-sandbox*) ;; *) ${said} esac`);
    await lab.start();
    expect(lab.log).toEqual([expect.stringMatching(reason)]);
  });

  it('names what keeps a browser from starting as another user, and starts it as it can', async () => {
    // Simulates a browser in a home folder that only root may enter.
    lab.programs.chromium = programOf(
      lab.folder,
      '[ "$(id -u)" = "$OWNER" ] || { echo "this browser is not for you" >&2; exit 1; }',
    );
    await lab.start();
    const isRoot = process.getuid?.() === 0;
    expect(lab.log).toHaveLength(isRoot ? 1 : 0);
    if (isRoot) expect(lab.log[0]).toMatch(/without its sandbox.*this browser is not for you/);
    expect(await (await lab.open({ page: 'p' })).close()).toMatchObject({ title: 'local' });
  });

  it('leads no task to this machine or a private network unless the run names the origin', async () => {
    await lab.start({ private_origins: [web.origin] });
    for (const url of [
      'http://169.254.169.254/latest/meta-data',
      'http://localhost:1',
      'http://[::1]:1',
      'http://0x7f.1',
    ]) {
      const reply = await openRaw({ url });
      expect(reply).toMatchObject({
        error: { code: 'bad_task', message: expect.stringMatching(/private_origins: \['http:/) as string },
      });
      expect(codeOf(await openRaw({ page: 'p', allowed_origins: [new URL(url).origin] }))).toBe('bad_task');
    }
  });
});

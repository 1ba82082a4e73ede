import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Lab, pixelOf, processesOf, tracesOf, until } from '../test/support';
import { readDesktopSpec } from './desktop-spec';
import { DesktopError } from './errors';
import { findPrograms } from './find-programs';
import desktop from './index';
import { DesktopOptions } from './options';
import type { Seat } from './seat';

const term = (script: string, ...flags: string[]) => ['xterm', ...flags, '-e', script];

describe('a desktop', () => {
  const lab = new Lab();
  beforeAll(async () => {
    const home = join(lab.folder, 'home');
    mkdirSync(join(home, 'deep'), { recursive: true });
    writeFileSync(join(home, 'deep/letter.txt'), 'dear');
    process.env.UIRL_SECRET_OF_A_TEST = 'what-only-the-service-knows';
    await lab.start(
      {
        // Its state is the typed text and the files it finds at the start.
        writer: {
          command: term(
            'env > env.txt; echo stray > $TMPDIR/stray; id -u > id.txt; ls -A > found.txt; cat "$UIRL_EPISODE" > episode.txt; cat > typed.txt',
          ),
          home: './home',
          state: [
            'sh',
            '-c',
            'printf \'{"typed":"%s","letter":"%s","found":"%s"}\' "$(tr "\\n" "+" < typed.txt)" "$(cat deep/letter.txt)" "$(tr "\\n" " " < found.txt)"',
          ],
          environment: { GREETING: 'hello' },
        },
        red: { command: ['xterm', '-bg', '#c81e32', '-fullscreen', '-e', 'sleep 1000'] },
        // Contacts an address outside this machine, if there is a route.
        network: {
          command: term('ls /sys/class/net > net.txt; cat /proc/net/route >> net.txt; sleep 1000'),
          state: ['sh', '-c', 'printf \'{"interfaces":"%s"}\' "$(tail -n +2 net.txt | tr "\\n\\t" "  ")"'],
        },
        shell: { command: term('cat') },
        dies: { command: term('sleep 0.5; echo broken >&2; kill -SEGV $PPID') },
        fails: { command: ['sh', '-c', 'echo no licence >&2; exit 3'] },
        nothing: { command: ['sleep', '1000'] },
        mistaken: { command: ['no-such-program'] },
        liar: { command: term('sleep 1000'), state: ['sh', '-c', 'echo oops >&2; exit 4'] },
        talker: { command: term('sleep 1000'), state: ['echo', 'not json'] },
        // Sends the two bytes of a character separately.
        halting: {
          command: term('sleep 1000'),
          state: ['sh', '-c', `printf '{"text":"Gr\\303'; sleep 0.3; printf '\\274n"}'`],
        },
        glutton: { command: term('sleep 1; tail /dev/zero') },
        daemon: { command: term('setsid -f sleep 4321; setsid -f env -i sleep 4322; sleep 1000') },
        two: { command: term('sleep 1000', '-T', 'other title'), window: 'wanted title' },
      },
      { window_ms: 6_000, memory_mb: 300 },
    );
    delete process.env.UIRL_SECRET_OF_A_TEST;
  }, 60_000);
  afterAll(() => lab.stop(), 60_000);
  // A failed desktop is ended while the failure is reported.
  afterEach(() => until(() => lab.traces().length === 0));

  const last = () => lab.seats.at(-1)!;
  const pidOf = (name: string) => processesOf(last().owner).find((each) => each.name === name)!.pid;

  it('gives a program a home that begins as its owner says, and nothing of the service', async () => {
    const player = await lab.play({ application: 'writer', reset: { n: 3 } }, { seed: 9 });
    await player.act({ action: 'type', text: 'one\ntwo' });
    await player.act({ action: 'key', keys: ['ctrl', 'd'] });
    const { home } = last();
    const environment = readFileSync(join(home, 'env.txt'), 'utf8');
    expect(environment).toContain('GREETING=hello');
    expect(environment).not.toContain('what-only-the-service-knows');
    expect(environment).toContain(`HOME=${home}\n`);
    const user = readFileSync(join(home, 'id.txt'), 'utf8').trim();
    if (process.getuid?.() === 0) expect(user).toBe(String(last().user));
    expect(JSON.parse(readFileSync(join(home, 'episode.txt'), 'utf8'))).toEqual({ seed: 9, reset: { n: 3 } });
    expect(statSync(home).mode & 0o077).toBe(0);
    // Read during the episode and at its end.
    expect(await player.close()).toEqual({
      typed: 'one+two',
      letter: 'dear',
      found: expect.stringMatching(/deep env.txt found.txt/) as string,
    });
  });

  it('shows what the program draws, and tells which windows there are', async () => {
    const player = await lab.play({ application: 'red' });
    expect(await pixelOf(player.first, 160, 200)).toEqual([0xc8, 0x1e, 0x32]);
    expect(await player.close()).toEqual({ windows: ['sleep 1000'] });
  });

  it('reads the state of a program that says a character in two parts', async () => {
    const player = await lab.play({ application: 'halting' });
    expect(await player.close()).toEqual({ text: 'Grün' });
  });

  it('lets a program reach no network', async () => {
    const player = await lab.play({ application: 'network' });
    const { interfaces } = (await player.close()) as { interfaces: string };
    expect(interfaces).not.toMatch(/eth|0000/);
  });

  it('refuses connections without the cookie, and listens on no port', async () => {
    const player = await lab.play({ application: 'shell' });
    const { number } = last();
    const { createClient } = await import('x11');
    const { createConnection } = await import('node:net');
    const refused = await new Promise<Error | null>((resolve) => {
      const client = createClient(
        {
          display: `:${number}`,
          stream: createConnection(`/tmp/.X11-unix/X${number}`),
          auth: { name: '', data: '' },
          bufferRequests: true,
        },
        (error) => resolve(error),
      );
      client.on('error', () => undefined);
    });
    expect(refused).toBeTruthy();
    const port = (6_000 + number).toString(16).toUpperCase().padStart(4, '0');
    expect(readFileSync('/proc/net/tcp', 'utf8')).not.toMatch(new RegExp(`:${port} [0-9A-F:]+ 0A`));
    await player.close();
  });

  it('ends what has left its group, its session and its environment', async () => {
    const player = await lab.play({ application: 'daemon' });
    await until(() => processesOf(last().owner).filter(({ name }) => name === 'sleep').length === 3);
    await player.close();
    expect(lab.traces()).toEqual([]);
  });

  it.each([
    ['a program that crashes', 'dies', /xterm ended by SIGSEGV/, 'crashed'],
    ['a program that fails at once', 'fails', /sh ended with code 3; it said: no licence/, 'crashed'],
    ['a program that is not there', 'mistaken', /no-such-program ended with code 127/, 'crashed'],
    ['a program without a window', 'nothing', /sleep has shown no window in 6000 ms/, 'no_window'],
    ['a program without the window', 'two', /no window with "wanted title" in its title/, 'no_window'],
    ['a program whose state cannot be read', 'liar', /ended with code 4; it said: oops/, 'application_error'],
    ['a program whose state is not JSON', 'talker', /is not JSON: not json/, 'application_error'],
    ['a program that takes all memory', 'glutton', /uses \d+ MiB, more than the 300 of memory_mb/, 'crashed'],
  ])('%s ends its episode and says why', async (_what, application, message, code) => {
    let reply: unknown = await lab.open({ application });
    const opened = reply as Awaited<ReturnType<typeof lab.open>>;
    // Some open their window before they fail.
    if (opened.ok) {
      const step = { sessionId: opened.value.sessionId, stepId: 's', deadlineMs: 20_000 };
      reply = await lab.sessions.step({ ...step, action: { action: 'wait', seconds: 5 } });
    }
    expect(reply).toMatchObject({
      ok: false,
      error: { code, message: expect.stringMatching(message) as string },
    });
  });

  it.each([
    ['Xvfb', /Xvfb ended by SIGKILL/],
    ['openbox', /openbox ended by SIGKILL/],
    ['xterm', /xterm ended by SIGKILL/],
  ])('%s killed in between ends the episode and says so', async (name, message) => {
    const player = await lab.play({ application: 'shell' });
    process.kill(pidOf(name), 'SIGKILL');
    const reply = await player.ask({ action: 'click', x: 5, y: 5 });
    expect(reply).toMatchObject({
      error: { code: 'crashed', message: expect.stringMatching(message) as string },
    });
  });

  it('Xvfb that hangs fails as too slow', async () => {
    const player = await lab.play({ application: 'shell' });
    process.kill(pidOf('Xvfb'), 'SIGSTOP');
    expect(await player.ask({ action: 'click', x: 5, y: 5 }, 2_000)).toMatchObject({
      error: { code: 'deadline' },
    });
  });

  it('a program that the agent has closed is not a failure', async () => {
    const player = await lab.play({ application: 'shell' });
    await player.act({ action: 'key', keys: ['ctrl', 'd'] });
    const { done, outcome } = await player.act({ action: 'wait', seconds: 1 });
    expect({ done, outcome }).toEqual({ done: true, outcome: 'application_closed' });
    expect(await player.close()).toEqual({ windows: [] });
  });

  it.each([
    [
      { application: 'sh -c id' },
      /"application" is "sh -c id", allowed by DESKTOP_APPLICATIONS of this machine: daemon/,
    ],
    [{ application: 'shell', command: ['id'] }, /"command" is unknown/],
    [
      { application: 'shell', screen: { width: 1e9, height: 5 } },
      /"screen.width" must be a whole number from 64/,
    ],
    [{ page: '../..' }, /"page" is "..\/..", known pages: none/],
    [{}, /"application" or "page" is needed/],
    [{ application: 'shell', reset: 'rm' }, /"reset" must be an object/],
  ])('a task with %j is refused', async (options, message) => {
    const reply = await lab.open(options);
    expect(reply).toMatchObject({
      error: { code: 'bad_task', message: expect.stringMatching(message) as string },
    });
  });

  it('leaves nothing where its service is killed', async () => {
    const script = join(__dirname, '../test/open-forever.ts');
    const runner = join(__dirname, '../../../libs/testkit/run-ts.cjs');
    const child = spawn(process.execPath, [runner, script], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, TMPDIR: lab.folder },
    });
    const seat = await new Promise<Seat>((resolve) =>
      child.stdout.once('data', (text: Buffer) => resolve(JSON.parse(text.toString()) as Seat)),
    );
    if (process.getuid?.() === 0) expect(seat.user).not.toBeNull();
    expect(processesOf(seat.owner).map(({ name }) => name)).toContain('xterm');
    child.kill('SIGKILL');
    await until(() => tracesOf(seat).length === 0);
  });
});

it('a program is given the start of its task, beside and before what its options say', () => {
  const options = { application: 'a', reset: { file: 'b', page: 1 } };
  const task = { description: 'x', start: { page: 2 }, environment: { kind: 'desktop', options } };
  const applications = new Map([['a', { command: ['a'] } as never]]);
  expect(readDesktopSpec(task, { applications, pages: {} }).reset).toEqual({ file: 'b', page: 2 });
});

describe('a machine with missing or wrong parts', () => {
  const create = (variables: Record<string, string>) =>
    desktop.create(new DesktopOptions(), {
      pages: {},
      maxSessions: 1,
      programs: {},
      variables,
      log: () => {},
    });

  it.each([
    ['a: {}', /a: "command" must be a list, program first, found nothing/],
    ['a: {command: xterm}', /a: "command" must be a list/],
    ['a: {command: [xterm], comand: 1}', /a: "comand" is unknown, known: command, home/],
    ['a: {command: [xterm], home: ./none}', /a: "home" must be a folder/],
    ['a: {command: [xterm], network: yes please}', /a: "network" must be true or false/],
    ['- a', /must map names of applications/],
    ['a: {command: [', /line 1/],
  ])('the list %j is refused', async (text, message) => {
    const lab = new Lab();
    const file = join(lab.folder, 'list.yaml');
    writeFileSync(file, text);
    await expect(create({ DESKTOP_APPLICATIONS: file })).rejects.toThrow(message);
    await lab.stop();
  });

  it('a missing program is named with the command that installs it', async () => {
    await expect(create({ XVFB_BIN: '/no/Xvfb' })).rejects.toThrow(
      /XVFB_BIN=\/no\/Xvfb is not a program; .*sudo apt-get install xvfb openbox/,
    );
    await expect(create({ DESKTOP_APPLICATIONS: '/no/list.yaml' })).rejects.toThrow(
      /DESKTOP_APPLICATIONS=\/no\/list.yaml/,
    );
    const elsewhere = Object.getOwnPropertyDescriptor(process, 'platform')!;
    Object.defineProperty(process, 'platform', { value: 'darwin' });
    try {
      expect(() => findPrograms({}, undefined)).toThrow(DesktopError);
    } finally {
      Object.defineProperty(process, 'platform', elsewhere);
    }
  });
});

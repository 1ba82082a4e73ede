import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { validateSync } from 'class-validator';
import type { DetailedReward, JudgedEpisode, Reward } from '@ui-rl/plugin-kit';
import { eventually } from '@ui-rl/testkit';
import { FILES, writeTask } from '../test/write-task';
import { harborTests } from './index';
import { HarborTestsOptions } from './options';
import { probeSandbox } from './sandbox';

const SECRET = 'hush-of-the-service';
let folder: string;
const logged: string[] = [];

beforeAll(() => (process.env.HARBOR_SPEC_SECRET = SECRET));
afterAll(() => delete process.env.HARBOR_SPEC_SECRET);
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'harbor-'))));
afterEach(() => {
  logged.length = 0;
  rmSync(folder, { recursive: true });
});

function reward(
  options: Partial<HarborTestsOptions> = {},
  mode: string | undefined = 'offline',
): Promise<Reward> {
  const environment: Record<string, string> = mode === '' ? {} : { HARBOR_TESTS: mode };
  const log = (_: string, message: string) => void logged.push(message);
  const context = { log, environment, reward: () => Promise.reject(new Error('none')) };
  const made = Object.assign(new HarborTestsOptions(), { path: folder, ...options });
  return Promise.resolve(harborTests.create(made, context));
}

const episode = (message?: string, stateAfter: object | null = null) =>
  ({
    task: { id: 'uirl/read-code', description: 'Read the code' },
    turns: [
      { actions: [{ action: 'finish', success: true, ...(message === undefined ? {} : { message }) }] },
    ],
    stateAfter,
    success: null,
  }) as unknown as JudgedEpisode;

const deadline = (ms = 20_000, signal = new AbortController().signal) => ({
  deadlineAt: Date.now() + ms,
  signal,
});

/** Scores an episode of a task with this test.sh. */
async function score(
  test: string,
  { toml = '', options = {}, mode = 'offline', played = episode() }: Partial<Score> = {},
): Promise<DetailedReward> {
  writeTask(folder, { 'tests/test.sh': `#!/bin/sh\n${test}\n`, 'task.toml': FILES['task.toml'] + toml });
  return (await (await reward(options, mode)).score(played, deadline())) as DetailedReward;
}
interface Score {
  toml: string;
  options: Partial<HarborTestsOptions>;
  mode: string;
  played: JudgedEpisode;
}
const paid = async (...given: Parameters<typeof score>) =>
  ((await score(...given)).episode as Record<string, number>)['harbor-tests'];

const WRITES = 'cd /logs/verifier;';

it("pays what the task's own test writes about the agent's answer", async () => {
  writeTask(folder);
  const made = await reward({ answer_file: '/app/code.txt' });
  const of = (value: number, success: boolean) => ({
    episode: { 'harbor-tests': value },
    verdicts: { 'harbor-tests': success },
  });
  expect(await made.score(episode('K-42'), deadline())).toEqual(of(1, true));
  expect(await made.score(episode('K-41'), deadline())).toEqual(of(0, false));
  expect(await made.score(episode(), deadline())).toEqual(of(0, false));
  expect(logged).toContainEqual(expect.stringMatching(/1 tests could use the network in Harbor/));
});

it("gives the test the answer, the environment's state, its own files and variables", async () => {
  const toml = '[verifier.env]\nWANTED = "two words"\n';
  const test = `[ "$(cat /logs/agent/answer.txt)" = "$WANTED" ] && grep -q '"calls":3' /logs/agent/state.json &&
    [ "$(cat /tests/expected.txt)" = K-42 ] && [ "$PWD" = /app ] && echo 1 > /logs/verifier/reward.txt`;
  expect(await paid(test, { toml, played: episode('two words', { calls: 3 }) })).toBe(1);
});

it.each<[string, number, Partial<Score>?]>([
  [`${WRITES} echo 0.25 > reward.txt`, 0.25],
  [`${WRITES} echo -1e1 > reward.txt; exit 3`, -10],
  [`${WRITES} echo 0.5 > reward.json; echo 1 > reward.txt`, 0.5],
  [`${WRITES} echo '{"reward": true, "style": 0.5}' > reward.json`, 1],
  [`${WRITES} echo '{"reward": 1, "style": 0.5}' > reward.json`, 0.5, { options: { key: 'style' } }],
])('reads the reward of %s as %d', async (test, value, given = {}) => {
  expect(await paid(test, given)).toBe(value);
});

it('calls a reward below 1 a success where the run file says so', async () => {
  const given = { options: { success_at: 0.4 } };
  expect(await score(`${WRITES} echo 0.4 > reward.txt`, given)).toMatchObject({
    verdicts: { 'harbor-tests': true },
  });
});

describe('an episode is not scored, rather than worth 0, if its test', () => {
  it.each<[string, RegExp, Partial<HarborTestsOptions>?]>([
    [
      'echo broken pipe of pytest; exit 2',
      /wrote no \/logs\/verifier\/reward.txt or reward.json \(exit status 2\): broken pipe of pytest/,
    ],
    [`${WRITES} : > reward.txt`, /wrote nothing to reward.txt, expected a number/],
    [`${WRITES} echo nan > reward.txt`, /wrote nan to reward.txt, expected a number/],
    [`${WRITES} echo 1e999 > reward.txt`, /wrote 1e999 to reward.txt/],
    [
      `${WRITES} echo '{"style": 1}' > reward.json`,
      /to reward.json, expected a number, or an object of numbers with "reward"/,
    ],
    [`${WRITES} echo '{"reward": "1"}' > reward.json`, /expected a number/],
    [`${WRITES} echo '{"reward"' > reward.json`, /wrote \{"reward" to reward.json/],
    [`${WRITES} echo '{"a": 1}' > reward.json`, /reward.json/, { key: '__proto__' }],
    [`${WRITES} mkfifo reward.txt`, /wrote no .*reward.txt/],
    [`${WRITES} head -c 100000 /dev/zero | tr '\\0' 1 > reward.txt`, /wrote 1+… to reward.txt/],
    ['kill -9 $PPID', /wrote no/],
  ])('%s', async (test, message, options = {}) => {
    await expect(score(test, { options })).rejects.toThrow(message);
  });

  it('does not end in time, and none of its processes remains', async () => {
    const test = 'echo began; setsid sleep 43210 & sleep 43210';
    writeTask(folder, { 'tests/test.sh': `#!/bin/sh\n${test}\n` });
    const made = await reward({ timeout_s: 1 });
    await expect(made.score(episode(), deadline())).rejects.toThrow(/did not end in time/);
    await noSleepers();
    const slow = await reward();
    await expect(slow.score(episode(), deadline(2_000))).rejects.toThrow(/did not end in time/);
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 500);
    await expect(slow.score(episode(), deadline(20_000, stop.signal))).rejects.toThrow(/did not end in time/);
    await noSleepers();
  });

  it('is stopped while its sandbox starts, and leaves nothing behind', async () => {
    writeTask(folder, { 'tests/test.sh': '#!/bin/sh\nsetsid sleep 43210 & sleep 43210\n' });
    const made = await reward();
    const stops = Array.from({ length: 16 }, (_, at) => AbortSignal.timeout(1 + at * 15));
    const ends = stops.map(async (signal) => {
      try {
        return await made.score(episode(), deadline(20_000, signal));
      } catch (error) {
        return String(error);
      }
    });
    for (const end of await Promise.all(ends)) expect(end).toMatch(/did not end in time/);
    await noSleepers();
  });

  it('is of another folder', async () => {
    writeTask(folder);
    const other = { ...episode(), task: { id: 'other', description: 'x' } };
    await expect((await reward()).score(other, deadline())).rejects.toThrow(
      /task "other" is not in the task folders of/,
    );
  });
});

const noSleepers = () => eventually('the end of the processes', () => sleepers().length === 0);

function sleepers(): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1') === 'sleep\x0043210\0';
    } catch {
      return false;
    }
  });
}

describe('a test', () => {
  it('that ended leaves no daemon behind', async () => {
    expect(await paid(`setsid sleep 43210 & ${WRITES} echo 1 > reward.txt`)).toBe(1);
    await noSleepers();
  });

  it('has neither secrets nor files nor processes of the service', async () => {
    const outside = join(folder, 'outside.txt');
    writeFileSync(outside, SECRET);
    const test = `found=0
      for file in ${outside} /proc/*/environ /etc/passwd /etc/shadow ${process.cwd()}/package.json; do
        if grep -qa -e ${SECRET.replace('hush', '[h]ush')} -e root: -e '"ui-rl"' $file 2>/dev/null; then found=1; fi
      done
      env | grep -q HARBOR && found=1
      [ -d /proc/${process.pid} ] && [ ${process.pid} -gt 50 ] && found=1
      kill -0 ${process.pid} 2>/dev/null && [ ${process.pid} -gt 50 ] && found=1
      ${WRITES} echo $found > reward.txt`;
    expect(await paid(test)).toBe(0);
  });

  it('writes nothing outside of the sandbox, and fills only memory with a limit', async () => {
    const test = `for at in /x /etc/x /usr/x /run/uirl-tests/x /dev/x ${folder}/x; do touch $at 2>/dev/null && exit 1; done
      head -c 300000000 /dev/zero > /tmp/large 2>/dev/null && exit 2
      echo changed > /tests/expected.txt
      ${WRITES} echo 1 > reward.txt`;
    expect(await paid(test)).toBe(1);
    expect(readFileSync(join(folder, 'tests', 'expected.txt'), 'utf8')).toBe('K-42\n');
  });

  it('cannot write the result by itself, past its reward file', async () => {
    const test = `printf 'reward.txt\\n9' >&3; printf x >&4; ${WRITES} echo 1 > reward.txt`;
    expect(await paid(test)).toBe(1);
  });

  it('reads no file behind a link that it makes its reward', async () => {
    await expect(score(`${WRITES} ln -s ${__filename} reward.txt`)).rejects.toThrow(/wrote no/);
  });

  describe('with a server to ask', () => {
    let server: Server;
    let url: string;
    beforeAll(async () => {
      server = createServer((_, response) => response.end('1'));
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    });
    afterAll(() => server.close());

    it.each([
      ['offline', '', 0],
      ['network', '', 1],
      ['network', 'network_mode = "no-network"', 0],
    ])('reaches it with HARBOR_TESTS=%s and %s: %d', async (mode, line, value) => {
      writeTask(folder, {
        'task.toml': FILES['task.toml'].replace('timeout_sec = 60.0', line),
        'tests/test.sh': `#!/bin/sh\n(curl -sf -m 5 ${url} || echo 0) > /logs/verifier/reward.txt\n`,
      });
      const made = await reward({}, mode);
      expect(await made.score(episode(), deadline())).toMatchObject({ episode: { 'harbor-tests': value } });
    });
  });
});

it.each([
  ['/app/code.txt', 0],
  ['/app/out/.code', 0],
  ['/app', 1],
  ['/tests/test.sh', 1],
  ['/app/../tests/test.sh', 1],
  ['/app//code', 1],
  ['code.txt', 1],
])('the answer can be written to %s: %d problems', (path, problems) => {
  const options = Object.assign(new HarborTestsOptions(), { path: 'tasks', answer_file: path });
  expect(validateSync(options)).toHaveLength(problems);
});

describe('a run with such a reward does not start', () => {
  it('where the machine has not allowed it', async () => {
    writeTask(folder);
    await expect(reward({}, '')).rejects.toThrow(/HARBOR_TESTS=offline, or network, where the actor runs/);
    await expect(reward({}, 'yes')).rejects.toThrow(/HARBOR_TESTS is "yes", expected offline or network/);
  });

  it('without bubblewrap', async () => {
    await expect(probeSandbox(folder)).rejects.toThrow(
      /does not start here \(spawn bwrap ENOENT\): install bubblewrap/,
    );
    const bwrap = join(folder, 'bwrap');
    writeFileSync(bwrap, '#!/bin/sh\necho setting up uid map: Permission denied >&2; exit 1\n', {
      mode: 0o755,
    });
    await expect(probeSandbox(folder)).rejects.toThrow(/\(setting up uid map: Permission denied\)/);
  });

  it.each<[string, Record<string, string | null>, RegExp]>([
    ['no test', { 'tests/test.sh': null }, /has no tests\/test\.sh: judge its tasks with another reward/],
    [
      'a test for Windows',
      { 'task.toml': FILES['task.toml'].replace('cpus = 1', 'os = "windows"') },
      /os = "windows": only test\.sh runs here/,
    ],
    [
      'a separate container',
      { 'task.toml': FILES['task.toml'].replace('[agent]', 'environment_mode = "separate"\n[agent]') },
      /cannot run without its container: the verifier has a separate container/,
    ],
    [
      'its definition',
      { 'task.toml': `${FILES['task.toml']}\n[verifier.environment]\ncpus = 1\n` },
      /separate container/,
    ],
    [
      'a hook',
      { 'task.toml': `${FILES['task.toml']}\n[[verifier.collect]]\ncommand = "true"\n` },
      /\[\[verifier\.collect\]\] runs commands in containers/,
    ],
    [
      'another user',
      { 'task.toml': FILES['task.toml'].replace('[agent]', 'user = 1000\n[agent]') },
      /\[verifier\] user = 1000 is a user of the container/,
    ],
    [
      'an allowlist',
      { 'task.toml': FILES['task.toml'].replace('[agent]', 'network_mode = "allowlist"\n[agent]') },
      /the whole network or none/,
    ],
    [
      'a key of the machine',
      { 'task.toml': `${FILES['task.toml']}\n[verifier.env]\nKEY = "\${OPENAI_API_KEY:-}"\n` },
      /\[verifier\.env\] KEY would read variables of this machine/,
    ],
    [
      'an odd variable',
      { 'task.toml': `${FILES['task.toml']}\n[verifier.env]\n"A B" = "c"\n` },
      /verifier\.env is "A B", expected names of environment variables/,
    ],
  ])('with %s', async (_, changes, message) => {
    writeTask(folder, changes);
    await expect(reward()).rejects.toThrow(message);
  });
});

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { manifestOf, writeManifest } from '@ui-rl/bus';
import { openRunFolder, RunSkipped, type IfLogDirExists } from './run-folder';

let runsDir: string;

beforeEach(() => (runsDir = mkdtempSync(join(tmpdir(), 'uirl-run-folder-'))));
afterEach(() => rmSync(runsDir, { recursive: true, force: true }));

const STATE = {
  ...{
    format: 1,
    model: { name: 'small' },
    digests: {},
    settledGroups: '',
    replacedGroups: 0,
    lastStep: null,
  },
  counts: { trajectories: 0, invalid: 0, trainedEpisodes: 0, trainedTokens: 0 },
  savedAt: '2026-01-01T00:00:00.000Z',
};

async function leave(logDir: string, runId: string, step: string): Promise<void> {
  const dir = join(runsDir, logDir, 'checkpoints', step);
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'state.json'), JSON.stringify({ ...STATE, runId, step: Number(step) }));
  writeFileSync(join(dir, 'manifest.json'), writeManifest(await manifestOf(dir)));
}

function open(
  ifExists: IfLogDirExists,
  runId = 'new',
  logDir: string | undefined = 'mine',
  openRuns: string[] = [],
) {
  return openRunFolder({ runsDir, runId, logDir, ifExists, isOpen: async (id) => openRuns.includes(id) });
}

it('is that of the run id, or the one that is named', async () => {
  expect(await openRunFolder({ runsDir, runId: 'new', ifExists: 'ask', isOpen: async () => false })).toEqual({
    dir: join(runsDir, 'new'),
  });
  expect(await open('ask')).toEqual({ dir: join(runsDir, 'mine') });
});

it.each(['ask', 'overwrite', 'skip', 'resume'] as const)(
  'continues with the run it belongs to, %s',
  async (behavior) => {
    await leave('mine', 'new', '000003');
    expect(await open(behavior)).toEqual({ dir: join(runsDir, 'mine') });
    expect(existsSync(join(runsDir, 'mine/checkpoints/000003'))).toBe(true);
  },
);

it('asks for a choice where another run left checkpoints', async () => {
  await leave('mine', 'old', '000003');
  await expect(open('ask')).rejects.toThrow(/checkpoints of run old.*overwrite, resume or skip/);
  await expect(open('skip')).rejects.toThrow(RunSkipped);
  expect(existsSync(join(runsDir, 'mine/checkpoints/000003'))).toBe(true);
});

it('belongs to the run that its state names, even if the rest of it cannot be read', async () => {
  await leave('mine', 'old', '000003');
  writeFileSync(join(runsDir, 'mine/checkpoints/000003/state.json'), '{"format":2,"runId":"old"}');
  await expect(open('ask')).rejects.toThrow(/checkpoints of run old.*overwrite, resume or skip/);
});

it('is emptied where it is to be overwritten', async () => {
  await leave('mine', 'old', '000003');
  await open('overwrite');
  expect(existsSync(join(runsDir, 'mine'))).toBe(false);
});

it('sets the newest checkpoint of the other run aside to continue from, also after a restart', async () => {
  await leave('mine', 'old', '000003');
  await leave('mine', 'old', '000020');
  const resumeFrom = join(runsDir, 'mine/earlier.old/checkpoints/000020');
  expect(await open('resume')).toEqual({ dir: join(runsDir, 'mine'), resumeFrom });
  expect(await open('resume')).toEqual({ dir: join(runsDir, 'mine'), resumeFrom });
  await leave('mine', 'new', '000000');
  expect(await open('resume')).toEqual({ dir: join(runsDir, 'mine') });
  expect(readdirSync(join(runsDir, 'mine')).toSorted()).toEqual(['checkpoints', 'earlier.old']);
});

it('sets all that the other run wrote aside with its checkpoints, also where that was cut off', async () => {
  await leave('mine', 'oldest', '000002');
  writeFileSync(join(runsDir, 'mine/metrics.jsonl'), 'of the oldest');
  await open('resume', 'old');
  await leave('mine', 'old', '000003');
  writeFileSync(join(runsDir, 'mine/metrics.jsonl'), 'of the old');
  mkdirSync(join(runsDir, 'mine/episodes/000003'), { recursive: true });
  // An earlier attempt ended before the checkpoints were moved.
  mkdirSync(join(runsDir, 'mine/earlier.old'));
  renameSync(join(runsDir, 'mine/episodes'), join(runsDir, 'mine/earlier.old/episodes'));
  const { resumeFrom } = await open('resume');
  expect(resumeFrom).toBe(join(runsDir, 'mine/earlier.old/checkpoints/000003'));
  const left = (folder: string) => readdirSync(join(runsDir, 'mine', folder)).toSorted();
  expect(left('.')).toEqual(['earlier.old', 'earlier.oldest']);
  expect(left('earlier.old')).toEqual(['checkpoints', 'episodes', 'metrics.jsonl']);
  expect(left('earlier.oldest')).toEqual(['checkpoints', 'metrics.jsonl']);
  expect(readFileSync(join(runsDir, 'mine/earlier.oldest/metrics.jsonl'), 'utf8')).toBe('of the oldest');
});

it('continues from the newest complete checkpoint where the last one is torn', async () => {
  await leave('mine', 'old', '000003');
  await leave('mine', 'old', '000004');
  writeFileSync(join(runsDir, 'mine/checkpoints/000004/state.json'), '{"format":1,"ru');
  await expect(open('ask')).rejects.toThrow(/checkpoints of run old/);
  expect((await open('resume')).resumeFrom).toBe(join(runsDir, 'mine/earlier.old/checkpoints/000003'));
});

it.each(['overwrite', 'resume', 'skip', 'ask'] as const)(
  'is not taken from an active run, %s',
  async (behavior) => {
    await leave('mine', 'old', '000003');
    await expect(open(behavior, 'new', 'mine', ['old'])).rejects.toThrow(/run old, which is not over/);
  },
);

it.each(['../x', '/tmp/x', 'a/b', '.', '..', '.hidden', ''])('refuses the folder name %j', async (logDir) => {
  await expect(open('overwrite', 'new', logDir)).rejects.toThrow(/not a folder name/);
  await expect(open('overwrite', logDir, 'mine')).rejects.toThrow(/not a folder name/);
});

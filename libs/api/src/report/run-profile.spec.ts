import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { profileText, readProfile } from './run-profile';

/** A step of the given duration: the trainer waits for half of it and trains for 40 %. */
function step(number: number, seconds: number, changes: Record<string, number> = {}): string {
  return JSON.stringify({
    ...{ step: number, at: '2026-01-01T00:00:00.000Z' },
    ...{ 'time/total': seconds, 'time/waiting_for_episodes': seconds / 2, 'time/train': 0.4 * seconds },
    ...{ 'time/checkpoint': seconds / 10, 'time/policy_per_turn': 0.3, 'time/env_per_turn': 0.1 },
    ...{ 'idle_ratio/actors': 0.2, 'idle_ratio/environments': 0.6 },
    ...{ 'env/all/episodes': 96, 'env/all/turns_per_episode': 4 },
    ...{ 'env/all/groups_replaced': 8, 'env/all/by_group/frac_mixed': 1 },
    ...changes,
  });
}

describe('profile of a run', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'profile-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  const write = (...lines: string[]) => writeFileSync(join(folder, 'metrics.jsonl'), lines.join('\n'));

  test('shares of time, weighted by how long steps took, and of turns by how many there were', async () => {
    write(
      step(1, 30, { 'idle_ratio/actors': 0.8, 'env/all/turns_per_episode': 1, 'time/env_per_turn': 0.6 }),
      step(2, 90),
    );
    const profile = await readProfile(folder);
    expect(profile).toMatchObject({ steps: 2, seconds: 120, episodes: 192, episodesPerMinute: 96 });
    expect(profile.trainer.waiting).toBeCloseTo(0.5);
    expect(profile.trainer.training).toBeCloseTo(0.4);
    expect(profile.trainer.checkpoint).toBeCloseTo(0.1);
    expect(profile.turn.environment).toBeCloseTo(0.2);
    expect(profile.places.free).toBeCloseTo(0.35);
    expect(profile.places.policy).toBeCloseTo(0.65 * 0.6);
    expect(profile.places.environment).toBeCloseTo(0.65 * 0.4);
    expect(profile.sessionsIdle).toBeCloseTo(0.6);
  });

  test('a step that was done again counts once, one of a warm start not at all', async () => {
    write(JSON.stringify({ step: 1, 'time/total': 9 }), step(2, 50), step(2, 20));
    expect(await readProfile(join(folder, 'metrics.jsonl'))).toMatchObject({ steps: 1, seconds: 20 });
  });

  test('runs stand beside one another; what no step says is a dash', async () => {
    write(step(1, 60));
    const profile = await readProfile(folder);
    const lines = profileText([
      { name: 'before', ...profile },
      { name: 'after', ...profile, sessionsIdle: NaN },
    ]).split('\n');
    expect(lines[0].trim().split(/\s+/)).toEqual(['before', 'after']);
    expect(lines).toContainEqual(expect.stringMatching(/^trainer: waits for episodes +50 % +50 %$/));
    expect(lines).toContainEqual(
      expect.stringMatching(/^groups a step: replaced, nothing to learn +8.0 +8.0$/),
    );
    expect(lines).toContainEqual(expect.stringMatching(/^sessions: nothing asked of them +60 % +–$/));
  });

  test('says what is missing', async () => {
    await expect(readProfile(folder)).rejects.toThrow('metrics.jsonl cannot be read: expected the folder');
    write('{"step":1}', 'half a li');
    await expect(readProfile(folder)).rejects.toThrow('line 2 is not an object of metrics');
    write('{"step":1}');
    await expect(readProfile(folder)).rejects.toThrow('no step that trained episodes');
  });
});

import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StoredEpisode, Trajectory } from '@ui-rl/contracts';
import { makeRollout, makeTrajectory, makeTurn } from '@ui-rl/testkit';
import { exportEpisodes } from './export-episodes';
import { MonitorEpisodes } from './monitor-source';

const PNGS = ['one', 'two'].map((text) => Buffer.from(text));
const HASHES = PNGS.map((png) => createHash('sha256').update(png).digest('hex'));
const episode = (rolloutId: string, image: number, changes: Partial<Trajectory> = {}): Trajectory =>
  makeTrajectory({
    request: makeRollout({ rolloutId }),
    turns: [makeTurn({ promptImages: [HASHES[image]] })],
    ...changes,
  });
const PAGES: Record<string, object> = {
  '': { trajectories: [episode('a', 0), episode('b', 0, { status: 'invalid' })], cursor: 'next~b' },
  'next~b': { trajectories: [episode('c', 1), episode('d', 0)], cursor: null },
};

let server: Server;
let monitor: string;
let dir: string;
const asked: { path: string; token: string | undefined }[] = [];

/** Answers as the monitor does (docs/reference/http.md). */
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'stored-'));
  server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://monitor');
    asked.push({ path: request.url!, token: request.headers.authorization });
    const png = PNGS[HASHES.findIndex((hash) => pathname === `/api/runs/run/screenshots/${hash}`)];
    if (pathname === '/api/runs/run/trajectories') {
      response.end(JSON.stringify(PAGES[searchParams.get('before') ?? '']));
    } else if (pathname === '/api/runs/empty/trajectories') {
      response.end(JSON.stringify({ trajectories: [], cursor: null }));
    } else if (png !== undefined) response.end(png);
    else response.writeHead(404).end(JSON.stringify({ statusCode: 404, message: 'not stored' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  monitor = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  await rm(dir, { recursive: true });
});

it('writes all valid training episodes, each screenshot once', async () => {
  const out = join(dir, 'episodes.jsonl');
  const stored = await exportEpisodes({
    source: new MonitorEpisodes({ monitor, token: 'secret', runId: 'run' }),
    filter: { success: 'yes', task: 'wifi' },
    to: 'episodes',
    out,
  });
  const text = await readFile(out, 'utf8');
  expect(stored).toEqual({ path: out, episodes: 3, images: 2, bytes: Buffer.byteLength(text) });
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as StoredEpisode);
  expect(lines.map(({ trajectory }) => trajectory.request.rolloutId)).toEqual(['a', 'c', 'd']);
  expect(lines[0].trajectory).toEqual(JSON.parse(JSON.stringify(episode('a', 0))));
  expect(lines.map(({ images }) => images)).toEqual([
    { [HASHES[0]]: PNGS[0].toString('base64') },
    { [HASHES[1]]: PNGS[1].toString('base64') },
    undefined,
  ]);
  expect(asked[0]).toEqual({
    path: '/api/runs/run/trajectories?purpose=train&success=yes&task=wifi',
    token: 'Bearer secret',
  });
});

it.each([
  ['other', /runs\/other\/trajectories.* answers with status 404: not stored/],
  ['empty', /the monitor has no such training episode of run empty/],
])('leaves no file of a run without episodes: %s', async (runId, message) => {
  const before = await readdir(dir);
  const source = new MonitorEpisodes({ monitor, runId });
  await expect(exportEpisodes({ source, to: 'episodes', out: join(dir, 'nothing.jsonl') })).rejects.toThrow(
    message,
  );
  expect(await readdir(dir)).toEqual(before);
});

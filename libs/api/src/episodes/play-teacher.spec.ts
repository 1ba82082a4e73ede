import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { EpisodeFile } from '@ui-rl/episode';
import { STAY_OR_GO } from '../../test/stay-or-go';
import { playTeacher, type PlayTeacherOptions } from './play-teacher';

interface Asked {
  messages: { role: string; content: unknown }[];
}

let folder: string;
let server: Server;
let address: string;
let asked: Asked[];

/** An endpoint that gives up at once, in the words of UI-TARS. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-teacher-'));
  writeFileSync(join(folder, 'tasks.json'), JSON.stringify(STAY_OR_GO));
  server = createServer((request, response) => {
    void (async () => {
      response.setHeader('content-type', 'application/json');
      if (request.url === '/v1/models') return response.end(JSON.stringify({ data: [{ id: 'strong' }] }));
      asked.push((await json(request)) as Asked);
      const content = 'Thought: I am done.\nAction: finished()';
      const choices = [{ message: { role: 'assistant', content }, finish_reason: 'stop' }];
      return response.end(JSON.stringify({ choices }));
    })();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterAll(async () => {
  await new Promise((closed) => server.close(closed));
  rmSync(folder, { recursive: true });
});
beforeEach(() => (asked = []));

function runFileWith(options: object): string {
  const path = join(folder, 'run.yaml');
  writeFileSync(path, JSON.stringify({ model: { name: 'small', prompt: 'compact' }, ...options }));
  return path;
}

function play(options: Partial<PlayTeacherOptions>): ReturnType<typeof playTeacher> {
  return playTeacher({
    checkpoint: `${address}#strong --model.prompt full --model.action_format ui_tars`,
    out: join(folder, 'episodes.jsonl'),
    flags: ['--evaluation.episodes_per_task', '2', '--rollout.max_turns', '2'],
    ...options,
    runFile: options.runFile ?? runFileWith({}),
  });
}

it('keeps the successes of an endpoint, as the model of the run would say them', async () => {
  const { report, file } = await play({ tasks: join(folder, 'tasks.json') });
  expect(report.checkpoints).toMatchObject([{ label: 'strong', score: { success_rate: 0.5, n: 4 } }]);
  expect(file).toMatchObject({ episodes: 2, turns: 2, stepsLeftOut: [], trajectoriesLeftOut: [] });
  const stored = new EpisodeFile(file!.path);
  const seeds = new Set<number>();
  for await (const { trajectory } of stored.read()) {
    const { request, turns, success, reward } = trajectory;
    expect({ id: request.task.id, success, reward }).toEqual({ id: 'stay', success: true, reward: 1 });
    expect(turns.map(({ text }) => text)).toEqual(['{"action":"finish","success":true}']);
    expect(turns[0].tokenIds.length).toBeGreaterThan(1);
    expect(await stored.image(turns[0].screenshot)).not.toBeNull();
    seeds.add(request.seed);
  }
  expect(seeds.size).toBe(2);
  // The prompt of the endpoint explains its actions; the one of the run's model does not.
  expect(JSON.stringify(asked.at(-1)!.messages)).toContain('finished(');
});

it("plays the run's training tasks by default, and writes nothing without a success", async () => {
  const runFile = runFileWith({ tasks: [{ source_type: 'file', path: './go.json' }] });
  writeFileSync(join(folder, 'go.json'), JSON.stringify([STAY_OR_GO[1]]));
  const out = join(folder, 'none.jsonl');
  const { report, file } = await play({ runFile, out });
  expect(report.checkpoints[0].tasks.map(({ id }) => id)).toEqual(['go']);
  expect(file).toBeNull();
  expect(existsSync(out)).toBe(false);
});

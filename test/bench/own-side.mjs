#!/usr/bin/env node
/**
 * Replaces pytorch_side.py in side-by-side.mjs, with the same commands: ui-rl itself. `--python
 * test/bench/own-side.mjs` compares ui-rl with ui-rl, which shows how far two equal sides differ, and lets the
 * comparison be tested without Python.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { LocalEngine, LORA, makeTurns, models, PreparedImages, timed, UiRl, withoutEnd } from './sides.mjs';

const dir = await mkdtemp(join(tmpdir(), 'ui-rl-own-side-'));
let engine;
let side;
let turns;

const COMMANDS = {
  async load({ model, adapter, batch, threads }) {
    const folder = await models.loadModelFolder(model);
    const count = JSON.parse(await readFile(join(batch, 'batch.json'), 'utf8')).length;
    turns = await makeTurns(folder, count);
    const images = new PreparedImages();
    const trainable = { mode: 'lora', lora: LORA, adapterDir: adapter };
    engine = await LocalEngine.start({
      imageProcessor: images,
      modelDir: await withoutEnd(folder, join(dir, 'endless')),
      device: 'cpu',
      models: [{ name: 'policy', role: 'policy', trainable }],
      maxRows: count,
      maxSequence: 1_024,
      threads,
      seed: 0,
    });
    side = new UiRl(engine, images, folder.family.shape.imageTokenId, 0);
    const own = { torch: 'none', transformers: 'none', peft: 'none' };
    return { versions: own, trainedParameters: (await engine.info()).trainedParameters };
  },
  score: async ({ count }) => ({ logprobs: await side.score(turns.slice(0, count)) }),
  async train({ count }) {
    let step;
    const milliseconds = await timed(async () => (step = await side.train(turns.slice(0, count))));
    return { ...step, milliseconds, towerMs: 0 };
  },
  merge: async () => ({}),
  async generate({ rows, tokens }) {
    side.newTokens = tokens;
    let answers;
    const milliseconds = await timed(async () => (answers = await side.generate(turns.slice(0, rows))));
    return {
      tokenIds: answers.map((answer) => answer.tokens),
      logprobs: answers.map(({ logprobs }) => logprobs),
      milliseconds,
      towerMs: 0,
    };
  },
};

try {
  for await (const line of createInterface({ input: process.stdin })) {
    const { do: name, ...options } = JSON.parse(line);
    const answer = await COMMANDS[name](options).catch((error) => ({ error: error.message }));
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
} finally {
  await engine?.stop();
  await rm(dir, { recursive: true, force: true });
}

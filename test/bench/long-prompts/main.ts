import { rm } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { LocalEngine } from '@ui-rl/engine';
import { loadModelFolder, makeRenderer, promptChunks, type ModelFolder } from '@ui-rl/models';
import { readCliSettings } from '@ui-rl/settings';
import { buildPrompt, type PastTurn } from '../../../libs/episode/src/prompt';
import { withoutEnd } from '../../../libs/bench/src/generation';
import { ownPrivateBytes } from '../../../libs/bench/src/measure';
import { screens } from '../screens';

const HELP = `npm run bench:long-prompts -- [options]      ten turns with long prompts: time and memory of each turn

  --model DIR        Hugging Face folder (the shipped model)
  --screenshots N    newest screenshots in each prompt (5)
  --tokens N         tokens of a prompt, which decide the size of a screenshot (4000)
`;

const TURNS = 10;
/** The length of a click in JSON. */
const NEW_TOKENS = 16;

/** The side of a square screenshot that becomes about this many tokens. */
async function sideFor({ imageProcessor }: ModelFolder, tokens: number): Promise<number> {
  let side = 64;
  while (imageProcessor.tokensOf({ width: side, height: side }) < tokens && side < 4_096) side += 32;
  return side;
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: { model: text, screenshots: text, tokens: text, help: { type: 'boolean' } },
  });
  if (values.help === true) {
    process.stdout.write(HELP);
    return;
  }
  const newest = Number(values.screenshots ?? 5);
  const wanted = Number(values.tokens ?? 4_000);
  const folder = await loadModelFolder(values.model ?? readCliSettings().models.small);
  const side = await sideFor(folder, wanted / newest);
  const shown = await screens(folder, { width: side, height: side }, TURNS + newest - 1);
  const endless = await withoutEnd(folder.dir);
  const engine = await LocalEngine.start({
    modelDir: endless,
    device: 'cpu',
    models: [{ name: 'policy', role: 'policy', trainable: { mode: 'frozen' } }],
    maxRows: 1,
    maxSequence: 2 * wanted,
    seed: 0,
    fetchImage: async (sha256) => shown.find((each) => each.sha256 === sha256)?.png ?? null,
  });
  process.stdout.write(
    `${folder.family.name}, ${folder.dir}: screenshots of ${side} × ${side}, ${folder.imageProcessor.tokensOf({ width: side, height: side })} tokens each\n`,
  );
  const renderer = makeRenderer(folder);
  const past: PastTurn[] = [];
  for (const [index, { png, sha256 }] of shown.entries()) {
    const prompt = buildPrompt({
      style: 'compact',
      describeActions: () => '',
      goal: 'Open the settings',
      past,
      screenshot: { png, sha256, width: side, height: side },
      maxTurns: shown.length,
      historyTurns: Infinity,
      historyScreenshots: newest,
    });
    const pngs = prompt.images.map((image) => shown.find((each) => each.sha256 === image)?.png ?? png);
    // The first turns only provide the history.
    if (index >= newest - 1) {
      const { tokenIds, images } = await renderer.renderPngs(prompt.messages, pngs);
      const began = performance.now();
      await engine.sample({
        model: 'policy',
        prompt: { chunks: promptChunks([...tokenIds], images, folder.family.shape.imageTokenId) },
        maxTokens: NEW_TOKENS,
        temperature: 1,
        topP: 1,
        seed: index,
      });
      const seconds = (performance.now() - began) / 1000;
      const turn = index - newest + 2;
      process.stdout.write(
        `turn ${turn}: ${tokenIds.length} tokens, ${seconds.toFixed(1)} s, ${(ownPrivateBytes() / 1e9).toFixed(2)} GB\n`,
      );
    }
    past.push({ screenshot: sha256, text: prompt.text, answer: '{"action":"click","x":10,"y":20}' });
  }
  await engine.stop();
  await rm(endless, { recursive: true });
}

void main();

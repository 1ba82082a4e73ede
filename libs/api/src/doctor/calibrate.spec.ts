import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  COORDINATE_SPACES,
  dialectFactories,
  type Action,
  type CoordinateSpace,
  type ScreenSizes,
} from '@ui-rl/actions';
import type { Policy } from '@ui-rl/episode';
import { loadComponents, loadTasks } from '@ui-rl/plugin-kit';
import type { RunFileOptions } from '@ui-rl/settings';
import { calibrate, calibrateModel, runOf } from './calibrate';
import { judge, type TargetAnswer, type TargetBox } from './calibration';

const screen = { width: 1280, height: 800 };
/** Sizes of a model that halves screenshots. */
const sizes: ScreenSizes = { screenshot: screen, modelImage: { width: 644, height: 392 } };
const count = 6;
const laid = loadComponents()
  .then((registry) => loadTasks(registry, [{ source_type: 'calibration', targets: count, ...screen }]))
  .then(([task]) => (task.environment!.options.reset as { targets: TargetBox[] }).targets);

/** A policy that knows where the named target is and answers in the given coordinate space. */
function scripted(space: CoordinateSpace, miss = 0): Policy {
  const dialect = dialectFactories.text.create(space);
  return {
    modelImage: async () => sizes.modelImage,
    act: async ({ messages, images }) => {
      const asked = JSON.stringify(messages);
      const targets = await laid;
      const target = targets.find(({ label }) => asked.includes(`Click the button \\"${label}\\"`))!;
      const place = {
        x: (target.x + Math.floor(target.width / 2) + miss) % screen.width,
        y: target.y + Math.floor(target.height / 2),
      };
      return {
        promptTokenIds: [1],
        promptImages: images.map((png) => createHash('sha256').update(png).digest('hex')),
        imageTokens: 1,
        tokenIds: [2],
        logprobs: [-1],
        text: dialect.format([{ action: 'click', ...place }], sizes),
        finishReason: 'stop',
        policyVersion: 0,
        adapterDigest: '',
      };
    },
  };
}

const check = (policy: Policy, coordinates: CoordinateSpace) =>
  calibrate({ policy, screen, targets: count, actionFormat: { name: 'text', coordinates } });

describe('on the page of targets, in a browser', () => {
  it('finds that clicks of an endpoint land where its model means them, in the dialect that a run would take', async () => {
    const endpoint = await endpointOf('qwen_computer_use', 'relative_1000');
    try {
      const checkpoint = `${endpoint.address}#Qwen/Qwen3-VL-4B-Instruct`;
      const found = await calibrateModel({ checkpoint, screen, targets: count });
      expect(found).toMatchObject({
        format: { name: 'qwen_computer_use', coordinates: 'relative_1000' },
        ...{ targets: count, displaced: 0, own: { hits: count, clicks: count } },
      });
      expect(found.own.distance).toBeLessThan(2);
      expect(found.verdict).toMatchObject({
        status: 'ok',
        found: expect.stringContaining('no other convention fits better'),
      });
    } finally {
      await endpoint.close();
    }
  }, 120_000);

  it('names the convention that the policy has in place of the one it is read in', async () => {
    const found = await check(scripted('relative_1000'), 'screenshot');
    expect(found.own.hits).toBeLessThan(count);
    expect(found.others[0]).toMatchObject({ coordinates: 'relative_1000', hits: count });
    expect(found.verdict).toMatchObject({
      status: 'failure',
      mend: 'model.action_format: {name: text, coordinates: relative_1000}',
    });
  }, 120_000);
});

/** An OpenAI-compatible server that knows where the named target is and answers in the given action format. */
async function endpointOf(
  format: string,
  space: CoordinateSpace,
): Promise<{ address: string; close: () => Promise<void> }> {
  const dialect = dialectFactories[format].create(space);
  const targets = await laid;
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const asked = Buffer.concat(parts).toString();
      const target = targets.find(({ label }) => asked.includes(`Click the button \\"${label}\\"`));
      const content = target === undefined ? 'white' : dialect.format([clickOn(target)], sizes);
      response.setHeader('Content-Type', 'application/json');
      response.end(
        JSON.stringify({ choices: [{ message: { role: 'assistant', content }, finish_reason: 'stop' }] }),
      );
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(() => done());
      }),
  };
}

function clickOn({ x, y, width, height }: TargetBox): Action {
  return { action: 'click', x: x + Math.floor(width / 2), y: y + Math.floor(height / 2) };
}

/** Only the action format is read from these models, so no server has to answer. */
describe('the dialect that a model is asked in', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'uirl-calibrate-'));
  });
  afterAll(() => rm(folder, { recursive: true }));
  const relative = { name: 'qwen_computer_use', coordinates: 'relative_1000' };

  it.each<[string, RunFileOptions['model'], string | undefined, object]>([
    ['small', {}, undefined, { name: 'json' }],
    ['Qwen/Qwen3-VL-4B-Instruct', {}, undefined, relative],
    ['ByteDance-Seed/UI-TARS-1.5-7B', {}, undefined, { name: 'ui_tars_1_5', coordinates: 'model_image' }],
    ['uirl://a-run/sampler_weights/000080', { name: 'Qwen/Qwen3-VL-4B-Instruct' }, undefined, relative],
    ['Qwen/Qwen3-VL-4B-Instruct', { name: 'Qwen/Qwen3-VL-4B-Instruct' }, 'run.yaml', relative],
    ['Qwen/Qwen3-VL-4B-Instruct', { action_format: 'text' }, undefined, { name: 'text' }],
  ])('%s with %j', async (checkpoint, model, file, format) => {
    const options = { model };
    if (file !== undefined) writeFileSync(join(folder, file), JSON.stringify(options));
    const runFile = file === undefined ? options : join(folder, file);
    expect((await runOf({ checkpoint, runFile })).model.action_format).toMatchObject(format);
  });
});

/** Answers of a policy with one coordinate convention, without a browser. */
async function answers(said: CoordinateSpace, read: CoordinateSpace, miss = 0): Promise<TargetAnswer[]> {
  const policy = scripted(said, miss);
  const own = dialectFactories.text.create(read);
  return Promise.all(
    (await laid).map(async (target) => {
      const message = { role: 'user', content: `Click the button "${target.label}"` };
      const { text } = await policy.act({ messages: [message], images: [] } as never, {} as never);
      const parsed = own.parse(text, sizes);
      const click = parsed.ok && 'x' in parsed.actions[0] ? parsed.actions[0] : undefined;
      return { target, answer: text, sizes, clicked: click === undefined ? null : [click.x!, click.y!] };
    }),
  );
}

const judged = async (said: CoordinateSpace, read: CoordinateSpace, miss = 0) => {
  const reading = (coordinates: CoordinateSpace) => ({
    coordinates,
    dialect: dialectFactories.text.create(coordinates),
  });
  const others = COORDINATE_SPACES.filter((space) => space !== read).map(reading);
  return judge(await answers(said, read, miss), { name: 'text', coordinates: read }, reading(read), others);
};

describe('a policy of each convention', () => {
  it.each(COORDINATE_SPACES)('%s is right when it is read as that', async (space) => {
    const { verdict, own } = await judged(space, space);
    expect(own.hits).toBe(count);
    expect(verdict.status).toBe('ok');
  });

  const pairs = COORDINATE_SPACES.flatMap((said) =>
    // Spaces of 999 and 1000 differ by a pixel: clicks cannot distinguish them.
    COORDINATE_SPACES.filter(
      (read) =>
        read !== said &&
        !(
          said.startsWith('relative_') &&
          read.startsWith('relative_') &&
          said !== 'relative_1' &&
          read !== 'relative_1'
        ),
    ).map((read) => [said, read] as const),
  );
  it.each(pairs)('%s is recognized when it is read as %s', async (said, read) => {
    const { verdict, others } = await judged(said, read);
    expect(others[0].hits).toBe(count);
    expect(verdict.status).toBe('failure');
    const family = said === 'relative_999' || said === 'relative_1000' ? 'relative_(?:999|1000)' : said;
    expect(verdict.mend).toMatch(new RegExp(`coordinates: ${family}\\}$`));
  });

  it('a policy without knowledge of positions gets no advice about the action format', async () => {
    const { verdict } = await judged('screenshot', 'screenshot', 150);
    expect(verdict).toMatchObject({
      status: 'warning',
      mend: expect.stringContaining('does not know where'),
    });
  });

  it('whose answers are not actions hears what is wrong with them', async () => {
    const given = (await answers('screenshot', 'screenshot')).map((each) => ({
      ...each,
      answer: 'there!',
      clicked: null,
    }));
    const dialect = dialectFactories.text.create('screenshot');
    const { verdict } = judge(given, { name: 'text' }, { coordinates: undefined, dialect }, []);
    expect(verdict).toMatchObject({
      status: 'failure',
      found: expect.stringContaining('"there!" is not an action'),
    });
  });

  it('recognizes an environment that clicks elsewhere', async () => {
    const moved = (await answers('screenshot', 'screenshot')).map((each) => ({
      ...each,
      clicked: [each.clicked![0] + 7, each.clicked![1]] as const,
    }));
    const dialect = dialectFactories.text.create('screenshot');
    const { verdict, displaced } = judge(moved, { name: 'text' }, { coordinates: 'screenshot', dialect }, []);
    expect(displaced).toBe(count);
    expect(verdict.found).toContain('elsewhere than they were meant');
  });
});

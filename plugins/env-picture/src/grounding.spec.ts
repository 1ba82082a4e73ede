import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  verify,
  type Action,
  type Deadline,
  type Environment,
  type EnvironmentComponent,
  type Task,
  type TaskSourceComponent,
} from '@ui-rl/plugin-kit';
import sharp from 'sharp';
import { components } from '.';

const [picture, grounding] = components as unknown as [
  EnvironmentComponent<object>,
  TaskSourceComponent<{ annotations: string; images: string }>,
];
const log = () => undefined;
const deadline: Deadline = { deadlineAt: Number.MAX_SAFE_INTEGER, signal: new AbortController().signal };
let folder: string;
let environment: Environment;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'pictures-'));
  mkdirSync(join(folder, 'images/app'), { recursive: true });
  const plain = (width: number, height: number) =>
    sharp({ create: { width, height, channels: 3, background: '#357' } });
  await plain(200, 100).png().toFile(join(folder, 'images/desk.png'));
  await plain(200, 100).jpeg().toFile(join(folder, 'images/app/phone.jpg'));
  // Stored on its side: upright it has 100 × 200 pixels.
  await plain(200, 100).withMetadata({ orientation: 6 }).jpeg().toFile(join(folder, 'images/turned.jpg'));
  const context = { pages: {}, maxSessions: 4, programs: {}, variables: { PICTURES_DIR: folder }, log };
  environment = await picture.create({}, context);
});
afterAll(async () => {
  await environment.close();
  rmSync(folder, { recursive: true });
});

function write(name: string, content: unknown): void {
  writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
}

async function load(annotations: string, images = 'images'): Promise<Task[]> {
  const context = { log, resolve: () => null, variables: { PICTURES_DIR: folder } };
  return grounding.create({ annotations, images }, context).load(deadline);
}

/** Whether an answer solves a task, as a run would judge it. */
async function solves(task: Task, action: Action): Promise<boolean | null> {
  const opened = await environment.open({ task, seed: 0 }, deadline);
  if (!opened.ok) throw new Error(opened.error.message);
  const session = opened.value;
  const stepped = await session.step(action, deadline);
  expect(stepped).toMatchObject({ ok: true, value: { done: true, outcome: 'ok' } });
  const state = await session.close(deadline);
  return state.ok ? verify(task.checks, state.value) : null;
}

const click = (x: number, y: number): Action => ({ action: 'click', x, y });
const finish: Action = { action: 'finish', success: false };

describe('annotated screenshots', () => {
  it('in the format of ScreenSpot have left, top, width and height', async () => {
    const entry = {
      img_filename: 'desk.png',
      instruction: 'close it',
      data_type: 'icon',
      data_source: 'windows',
    };
    write('spot.json', [
      { ...entry, bbox: [10, 20, 30, 40] },
      { ...entry, bbox: [0.5, 0.5, 1, 1], data_type: 'text' },
    ]);
    const [pixels, fractions] = await load('spot.json');
    expect(pixels).toMatchObject({ id: 'spot_1', description: 'close it', maxSteps: 1 });
    expect(pixels.tags).toEqual(['windows', 'icon', 'windows icon']);
    expect(await solves(pixels, click(40, 60))).toBe(true);
    expect(await solves(pixels, click(41, 60))).toBe(false);
    expect(await solves(pixels, finish)).toBe(false);
    expect(await solves(fractions, click(150, 75))).toBe(true);
    expect(await solves(fractions, click(99, 75))).toBe(false);
  });

  it('in the format of ScreenSpot-Pro have left, top, right and bottom', async () => {
    const entry = {
      id: 'blender_1',
      img_filename: 'app/phone.jpg',
      img_size: [200, 100],
      instruction: 'add a cube',
      bbox: [10, 20, 30, 40],
      ui_type: 'text',
      platform: 'linux',
      application: 'blender',
      group: 'Creative',
    };
    mkdirSync(join(folder, 'pro'));
    write('pro/a.json', [entry]);
    write('pro/b.json', [{ ...entry, bbox: [100, 20, 120, 40] }]);
    const [first, second] = await load('pro');
    expect([first.id, second.id]).toEqual(['blender_1', 'blender_1_2']);
    expect(first.tags).toEqual(['Creative', 'text', 'Creative text', 'linux', 'blender']);
    expect(await solves(first, { action: 'double_click', x: 30, y: 40 })).toBe(true);
    expect(await solves(first, click(31, 40))).toBe(false);
    expect(await solves(second, click(110, 30))).toBe(true);
  });

  it('in the format of OSWorld-G have boxes, polygons, and things that are not there', async () => {
    const entry = { image_path: 'turned.jpg', instruction: 'the corner', GUI_types: ['Icon'] };
    write('g.json', [
      { ...entry, id: 'a', box_type: 'bbox', box_coordinates: [10, 20, 30, 40] },
      { ...entry, id: 'b', box_type: 'polygon', box_coordinates: [0, 0, 100, 0, 0, 200] },
      { ...entry, id: 'c', box_type: 'refusal', box_coordinates: [-1, -1, -1, -1] },
    ]);
    const [box, polygon, refusal] = await load('g.json');
    expect(await solves(box, click(40, 60))).toBe(true);
    expect(await solves(polygon, click(40, 100))).toBe(true);
    expect(await solves(polygon, click(60, 100))).toBe(false);
    expect(await solves(refusal, finish)).toBe(true);
    expect(await solves(refusal, click(40, 100))).toBe(false);
    const opened = await environment.open({ task: box, seed: 0 }, deadline);
    expect(opened).toMatchObject({ ok: true, value: { screenshot: { width: 100, height: 200 } } });
  });

  it('end with the first click; other actions have no effect', async () => {
    const [task] = await load('spot.json');
    const opened = await environment.open({ task, seed: 0 }, deadline);
    const session = opened.ok ? opened.value : undefined;
    expect(await session?.step({ action: 'wait', seconds: 1 }, deadline)).toMatchObject({
      value: { done: false, outcome: 'unsupported_action' },
    });
    expect(session?.state).toEqual({ clicked: null, inside: false, refused: false });
  });
});

describe('wrong input is refused by name', () => {
  const entry = { img_filename: 'desk.png', instruction: 'x', bbox: [1, 2, 3, 4] };
  it.each<[string, unknown, RegExp]>([
    ['no list', { a: 1 }, /bad\.json is not a list of annotations/],
    ['a broken file', '[{"a"', /bad\.json is not JSON/],
    ['a number', [7], /entry 1 is 7, expected an object/],
    ['no instruction', [{ ...entry, instruction: '' }], /entry 1: instruction is "", expected a text/],
    ['three numbers', [entry, { ...entry, bbox: [1, 2, 3] }], /entry 2: bbox has 3 numbers, expected 4/],
    ['a text as box', [{ ...entry, bbox: '1,2,3,4' }], /bbox is "1,2,3,4", expected a list of numbers/],
    ['another type', [{ box_type: 'circle', image_path: 'x', instruction: 'x' }], /box_type is "circle"/],
  ])('%s', async (_, content, expected) => {
    write('bad.json', content);
    await expect(load('bad.json')).rejects.toThrow(expected);
  });

  it('a file that leads out of the folder, by its name or by a link', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'outside-'));
    writeFileSync(join(outside, 'secret.json'), '[]');
    symlinkSync(join(outside, 'secret.json'), join(folder, 'link.json'));
    const up = join('..', outside.slice(tmpdir().length + 1), 'secret.json');
    for (const path of ['link.json', up, join('images', '..', up)])
      await expect(load(path)).rejects.toThrow(/is outside PICTURES_DIR/);
    await expect(load(join(outside, 'secret.json'))).rejects.toThrow(/expected a path relative to/);
    await expect(load('absent.json')).rejects.toThrow(/cannot be opened in/);
    rmSync(outside, { recursive: true });
  });

  it.each<[string, Record<string, unknown>, RegExp]>([
    ['no picture', { target: { absent: true } }, /image is missing/],
    [
      'a picture elsewhere',
      { image: '../x.png', target: { absent: true } },
      /image is "\.\.\/x\.png", which/,
    ],
    ['a text file', { image: 'spot.json', target: { absent: true } }, /is not a readable picture/],
    ['an unknown option', { image: 'images/desk.png', targets: 1 }, /"targets" is unknown/],
    ['no target', { image: 'images/desk.png' }, /target is nothing, expected \{box/],
    [
      'a box from right to left',
      { image: 'images/desk.png', target: { box: [3, 0, 1, 1] } },
      /in this order/,
    ],
    ['two corners', { image: 'images/desk.png', target: { polygon: [0, 0, 1, 1] } }, /3 to 500 corners/],
    ['two targets', { image: 'images/desk.png', target: { box: [0, 0, 1, 1], absent: true } }, /one of box/],
  ])('in a task: %s', async (_, options, expected) => {
    const task = { id: 't', description: 'x', environment: { kind: 'picture', options } };
    const opened = await environment.open({ task, seed: 0 }, deadline);
    expect(opened).toMatchObject({ ok: false, error: { code: 'bad_task' } });
    expect(opened.ok ? '' : opened.error.message).toMatch(expected);
  });

  it('a picture that is too large, before it is decoded', async () => {
    writeFileSync(join(folder, 'huge.png'), '');
    truncateSync(join(folder, 'huge.png'), 65 * 2 ** 20);
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="60000" height="60000"/>';
    writeFileSync(join(folder, 'wide.svg'), svg);
    for (const [image, expected] of [
      ['huge.png', /expected at most 67108864/],
      ['wide.svg', /is not a readable picture/],
    ] as const) {
      const options = { image, target: { absent: true } };
      const task = { id: 't', description: 'x', environment: { kind: 'picture', options } };
      const opened = await environment.open({ task, seed: 0 }, deadline);
      expect(opened.ok ? '' : opened.error.message).toMatch(expected);
    }
  });
});

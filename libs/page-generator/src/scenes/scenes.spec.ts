import {
  generatePage,
  PageRenderer,
  SCENE_KINDS,
  type LivePage,
  type PagePart,
  type SceneKind,
  type TruthElement,
} from '../index';

const VIEWPORT = { width: 320, height: 320 };

let renderer: PageRenderer;

beforeAll(async () => {
  renderer = await PageRenderer.launch();
});

afterAll(() => renderer.close());

/**
 * A page of this kind without a covering dialog that shows the wanted element, with the part of its rows or fields.
 */
async function open(
  scene: SceneKind,
  wanted: (element: TruthElement) => boolean = () => true,
): Promise<{ live: LivePage; part: PagePart }> {
  for (let seed = 0; ; seed++) {
    const page = generatePage(seed, { scene, viewport: VIEWPORT });
    if (page.parts.some(({ kind, value }) => kind === 'dialog' && value === true)) continue;
    const part = page.parts.find(({ kind }) => kind === 'records' || kind === 'form');
    const live = await renderer.open(page);
    if ((await live.truth()).elements.some(wanted)) return { live, part: part ?? page.parts[0] };
    await live.close();
  }
}

async function find(live: LivePage, id: number): Promise<TruthElement | undefined> {
  return (await live.truth()).elements.find((element) => element.id === id);
}

async function click(live: LivePage, id: number): Promise<void> {
  const element = await find(live, id);
  if (element === undefined) throw new Error(`element ${id} is not visible`);
  await live.perform({ action: 'click', x: element.center[0], y: element.center[1] });
}

it('draws every kind of page, with elements in all of them', async () => {
  const pages = SCENE_KINDS.flatMap((scene) =>
    [1, 2, 3].map((seed) => generatePage(seed, { scene, viewport: VIEWPORT })),
  );
  const screens = await renderer.renderAll(pages);
  expect(screens.filter(({ truth }) => truth.elements.length < 2 || truth.characters.length < 5)).toEqual([]);
});

it('opens a mail and goes back', async () => {
  const { live, part } = await open('mail');
  const [first] = part.items!;
  const reply = part.actions!.find(({ name, row }) => name === 'reply' && row === 0)!;
  await click(live, first.id);
  await click(live, reply.id);
  expect((await live.state())[reply.id]).toBe(1);
  expect(await find(live, first.id)).toBeUndefined();
  const back = (await live.truth()).elements.find(({ name }) => /back|close/i.test(name))!;
  await click(live, back.id);
  expect(await find(live, first.id)).toBeDefined();
  await live.close();
});

it('likes a post, and opens its menu', async () => {
  const { live, part } = await open('feed');
  const [like] = part.actions!.filter(({ row }) => row === 0);
  await click(live, like.id);
  expect((await live.state())[like.id]).toBe(true);
  expect((await find(live, like.id))!.row).toBe(0);
  const more = part.actions!.find(({ name }) => name === 'more')!;
  const item = part.actions![part.actions!.indexOf(more) + 1];
  await click(live, more.id);
  expect(await find(live, item.id)).toMatchObject({ kind: 'menu item', name: item.name });
  await live.close();
});

it('sends what is typed into a conversation', async () => {
  const { live } = await open('chat');
  const field = (await live.truth()).elements.find(({ kind }) => kind === 'text field')!;
  await click(live, field.id);
  await live.perform({ action: 'type', text: 'See you at nine\n' });
  const { elements } = await live.truth();
  expect(elements.some(({ kind, name }) => kind === 'text' && name === 'See you at nine')).toBe(true);
  expect((await live.state()).events.at(-1)).toMatchObject({ event: 'send', value: 'See you at nine' });
  await live.close();
});

it('shows what a search finds', async () => {
  const isSearch = ({ kind, name }: TruthElement) =>
    kind === 'button' && /^(Search|Find|Show offers|Go)$/.test(name);
  const { live, part } = await open('booking', isSearch);
  expect(await find(live, part.items![0].id)).toBeUndefined();
  await click(live, (await live.truth()).elements.find(isSearch)!.id);
  await click(live, part.actions![0].id);
  expect((await live.state())[part.actions![0].id]).toBe(1);
  expect((await live.state()).events.some(({ event }) => event === 'submit')).toBe(true);
  await live.close();
});

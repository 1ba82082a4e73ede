import {
  generatePage,
  PageRenderer,
  type LivePage,
  type PagePart,
  type ScreenTruth,
  type TruthElement,
  type PlacedKind,
} from '../index';

let renderer: PageRenderer;

beforeAll(async () => {
  renderer = await PageRenderer.launch();
});

afterAll(() => renderer.close());

interface Opened {
  live: LivePage;
  part: PagePart;
  truth: ScreenTruth;
}

/** The first page with only this kind on which the part and `wanted` are visible. */
async function open(
  kind: PlacedKind,
  wanted: (part: PagePart, truth: ScreenTruth) => boolean = () => true,
): Promise<Opened> {
  for (let seed = 0; seed < 40; seed++) {
    const page = generatePage(seed, { kinds: [kind], viewport: { width: 320, height: 320 } });
    const live = await renderer.open(page);
    const truth = await live.truth();
    const part = page.parts.find((each) => each.kind === kind && wanted(each, truth));
    if (part !== undefined) return { live, part, truth };
    await live.close();
  }
  throw new Error(`no page shows a ${kind} as wanted`);
}

function find(truth: ScreenTruth, id: number): TruthElement | undefined {
  return truth.elements.find((element) => element.id === id);
}

const isSeen = ({ id }: PagePart, truth: ScreenTruth): boolean => find(truth, id) !== undefined;
const areSeen = ({ items = [] }: PagePart, truth: ScreenTruth): boolean =>
  items.length > 1 && items.every(({ id }) => find(truth, id) !== undefined);

async function click(live: LivePage, id: number): Promise<void> {
  const element = find(await live.truth(), id);
  if (element === undefined) throw new Error(`element ${id} is not visible`);
  await live.perform({ action: 'click', x: element.center[0], y: element.center[1] });
}

it('counts clicks on buttons and says them in order', async () => {
  const { live, part } = await open('buttons', isSeen);
  await click(live, part.id);
  await click(live, part.id);
  expect(await live.state()).toMatchObject({
    [part.id]: 2,
    events: [
      { id: part.id, event: 'click' },
      { id: part.id, event: 'click' },
    ],
  });
  await live.close();
});

it.each(['checkboxes', 'toggles'] as const)('checks %s, also by their labels', async (kind) => {
  const { live, part } = await open(kind, isSeen);
  await click(live, part.id);
  expect((await live.state())[part.id]).toBe(part.value !== true);
  const { label } = find(await live.truth(), part.id)!;
  await click(live, label!);
  expect((await live.state())[part.id]).toBe(part.value);
  await live.close();
});

it('chooses one of several radios', async () => {
  const { live, part } = await open('radios', areSeen);
  for (const item of part.items!) {
    await click(live, item.id);
    expect((await live.state())[part.id]).toBe(item.name);
  }
  await live.close();
});

it('opens a select as a list on the page and takes an option', async () => {
  const { live, part } = await open('select', (each, truth) => find(truth, each.id)?.kind === 'select');
  await click(live, part.id);
  const opened = await live.truth();
  const ids = part.items!.map(({ id }) => id);
  const options = opened.elements.filter(({ id }) => ids.includes(id));
  expect(options.length).toBeGreaterThan(1);
  const other = options.find(({ name }) => name !== part.value)!;
  await click(live, other.id);
  expect((await live.state())[part.id]).toBe(part.items!.find(({ id }) => id === other.id)!.name);
  expect(find(await live.truth(), other.id)).toBeUndefined();
  await live.close();
});

it.each(['field', 'password', 'text area'] as const)('takes text into a %s', async (kind) => {
  const { live, part } = await open(kind, isSeen);
  await click(live, part.id);
  await live.perform({ action: 'key', keys: ['ctrl', 'a'] });
  await live.perform({ action: 'type', text: 'Harbor 42!' });
  expect((await live.state())[part.id]).toBe('Harbor 42!');
  expect(find(await live.truth(), part.id)).toMatchObject({ value: 'Harbor 42!', state: { focused: true } });
  await live.close();
});

it('switches tabs', async () => {
  const { live, part } = await open('tabs', areSeen);
  const other = part.items!.find(({ name }) => name !== part.value)!;
  await click(live, other.id);
  const truth = await live.truth();
  expect(find(truth, other.id)!.state.selected).toBe(true);
  expect((await live.state())[part.id]).toBe(other.name);
  await live.close();
});

it('opens and shuts rows of an accordion', async () => {
  const { live, part } = await open('accordion', areSeen);
  const before = find(await live.truth(), part.items![0].id)!.state.expanded;
  await click(live, part.items![0].id);
  expect(find(await live.truth(), part.items![0].id)!.state.expanded).toBe(!before);
  await live.close();
});

it('moves sliders by dragging and by keys', async () => {
  const { live, part, truth } = await open(
    'slider',
    (each, seen) => isSeen(each, seen) && (each.value as number) < each.max!,
  );
  const { box } = find(truth, part.id)!;
  const y = box[1] + box[3] / 2;
  await live.perform({ action: 'drag', from: [box[0] + box[2] / 2, y], to: [box[0] + box[2] - 1, y] });
  expect((await live.state())[part.id]).toBe(part.max);
  await live.perform({ action: 'key', keys: ['left'] });
  expect((await live.state())[part.id]).toBe(part.max! - part.step!);
  await live.close();
});

it('steps values up and down', async () => {
  const { live, part } = await open(
    'stepper',
    (each, truth) => isSeen(each, truth) && areSeen(each, truth) && (each.value as number) > 0,
  );
  const [less, more] = part.items!;
  await click(live, more.id);
  await click(live, more.id);
  await click(live, less.id);
  expect((await live.state())[part.id]).toBe((part.value as number) + 1);
  await live.close();
});

it('opens a menu and takes an item', async () => {
  const { live, part, truth } = await open(
    'menu',
    (each, seen) => find(seen, each.id)?.kind === 'menu' && find(seen, each.items![0].id) === undefined,
  );
  expect(find(truth, part.id)!.state.expanded).toBe(false);
  await click(live, part.id);
  await click(live, part.items![0].id);
  expect((await live.state())[part.items![0].id]).toBe(1);
  expect(find(await live.truth(), part.items![0].id)).toBeUndefined();
  await live.close();
});

it('closes a dialog by each of its buttons', async () => {
  const { live, part } = await open(
    'dialog',
    (each, truth) =>
      each.value === true &&
      isSeen(each, truth) &&
      (each.items ?? []).some(({ id }) => find(truth, id) !== undefined),
  );
  const truth = await live.truth();
  const button = part.items!.find(({ id }) => find(truth, id) !== undefined)!;
  await click(live, button.id);
  expect(find(await live.truth(), part.id)).toBeUndefined();
  expect((await live.state())[part.id]).toBe(false);
  await live.close();
});

it('scrolls a container', async () => {
  const { live, part, truth } = await open('scroll container', isSeen);
  const [x, y] = find(truth, part.id)!.center;
  await live.perform({ action: 'scroll', direction: 'down', amount: 1, x: Math.round(x), y: Math.round(y) });
  expect((await live.state())[part.id]).toBeGreaterThan(0);
  await live.close();
});

it('suggests texts for what is typed', async () => {
  const { live, part } = await open(
    'autocomplete',
    (each, truth) => isSeen(each, truth) && each.value === '',
  );
  const wanted = part.items![0];
  await click(live, part.id);
  await live.perform({ action: 'type', text: wanted.name.slice(0, 3) });
  await click(live, wanted.id);
  expect((await live.state())[part.id]).toBe(wanted.name);
  await live.close();
});

it('takes a suggestion of a list that is open at first', async () => {
  const { live, part, truth } = await open(
    'autocomplete',
    (each, seen) => each.value !== '' && each.items!.some(({ id }) => find(seen, id) !== undefined),
  );
  const wanted = part.items!.find(({ id }) => find(truth, id) !== undefined)!;
  await click(live, wanted.id);
  expect((await live.state())[part.id]).toBe(wanted.name);
  await live.close();
});

it('picks a day of another month', async () => {
  const { live, part } = await open(
    'date picker',
    (each, truth) =>
      find(truth, each.id)?.kind === 'text field' && find(truth, each.id)!.state.expanded === false,
  );
  await click(live, part.id);
  const next = (await live.truth()).elements.find(({ name }) => name === 'next month')!;
  await click(live, next.id);
  const day = (await live.truth()).elements.find(({ kind, name }) => kind === 'date' && name === '15')!;
  await click(live, day.id);
  const [year, month] = part.month!;
  const [nextYear, nextMonth] = month === 12 ? [year + 1, 1] : [year, month + 1];
  const text = part
    .format!.replace('Y', String(nextYear))
    .replace('M', String(nextMonth).padStart(2, '0'))
    .replace('D', '15');
  expect((await live.state())[part.id]).toBe(text);
  await live.close();
});

it('drops what is dragged on a target', async () => {
  const { live, part, truth } = await open('drag and drop', areSeen);
  const target = (part.value as { id: number }[]).find(({ id }) => find(truth, id) !== undefined)!;
  const [source] = part.items!;
  await live.perform({
    action: 'drag',
    from: find(truth, source.id)!.center,
    to: find(truth, target.id)!.center,
  });
  expect((await live.state())[target.id]).toEqual([source.name]);
  await live.close();
});

it('sorts a list by dragging', async () => {
  const { live, part, truth } = await open('sortable list', areSeen);
  const { items } = part;
  const last = find(truth, items!.at(-1)!.id)!;
  const to: [number, number] = [last.center[0], last.box[1] + last.box[3] - 2];
  await live.perform({ action: 'drag', from: find(truth, items![0].id)!.center, to });
  const names = items!.map(({ name }) => name);
  expect((await live.state())[part.id]).toEqual([...names.slice(1), names[0]]);
  await live.close();
});

it('selects cells of a grid and rows of a tree', async () => {
  const grid = await open('grid', areSeen);
  await click(grid.live, grid.part.items![1].id);
  expect((await grid.live.state())[grid.part.items![1].id]).toBe(true);
  await grid.live.close();
  const tree = await open('tree', (each, truth) =>
    each.items!.some(({ id }) => find(truth, id)?.state.expanded === false),
  );
  const shut = tree.part.items!.find(({ id }) => find(tree.truth, id)?.state.expanded === false)!;
  await click(tree.live, shut.id);
  expect(find(await tree.live.truth(), shut.id)!.state.expanded).toBe(true);
  await tree.live.close();
});

it('gives points that reach their elements', async () => {
  const missed: string[] = [];
  for (let seed = 5000; seed < 5040; seed++) {
    const live = await renderer.open(generatePage(seed));
    const { elements } = await live.truth();
    const reached = await live['page'].evaluate(
      (points) =>
        points.map(({ id, x, y }) => {
          const hit = document.elementFromPoint(x, y);
          const element = document.querySelector(`[data-e="${id}"]`);
          return hit !== null && (element?.contains(hit) === true || hit.contains(element));
        }),
      elements.map(({ id, center: [x, y] }) => ({ id, x, y })),
    );
    elements.forEach(({ id, kind }, i) => {
      if (!reached[i]) missed.push(`seed ${seed}: ${kind} ${id}`);
    });
    await live.close();
  }
  expect(missed).toEqual([]);
});

it('steps a field with arrows, and takes what is typed into it', async () => {
  const { live, part, truth } = await open(
    'stepper',
    (each, seen) => isSeen(each, seen) && each.form === 'field' && (each.value as number) > 1,
  );
  await click(live, part.items![1].id);
  expect((await live.state())[part.id]).toBe((part.value as number) + 1);
  const { box } = find(truth, part.id)!;
  await live.perform({
    action: 'triple_click',
    x: Math.round(box[0] + 8),
    y: Math.round(box[1] + box[3] / 2),
  });
  await live.perform({ action: 'type', text: '7' });
  expect((await live.state())[part.id]).toBe(7);
  await click(live, part.items![0].id);
  expect((await live.state())[part.id]).toBe(6);
  await live.close();
});

it('opens a menu within a menu', async () => {
  const { live, part, truth } = await open('menu', (each, seen) =>
    each.items!.some(({ inside }) => inside !== undefined && find(seen, inside) !== undefined),
  );
  const inner = part.items!.find(({ inside }) => inside !== undefined && find(truth, inside) !== undefined)!;
  await click(live, inner.inside!);
  await click(live, inner.id);
  expect((await live.state())[inner.id]).toBe(1);
  await live.close();
});

it('shows the same as the page on a sheet', async () => {
  const pages = Array.from({ length: 6 }, (_, i) => generatePage(4000 + i));
  const screens = await renderer.renderAll(pages);
  for (const [i, page] of pages.entries()) {
    const live = await renderer.open(page);
    const { rgb, truth } = await live.screen();
    expect(rgb.filter((byte, at) => Math.abs(byte - screens[i].rgb[at]) > 40).length).toBe(0);
    expect(truth).toEqual(screens[i].truth);
    await live.close();
  }
});

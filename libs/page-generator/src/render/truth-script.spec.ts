import { PageRenderer, type GeneratedPage, type ScreenTruth } from '../index';

let renderer: PageRenderer;

beforeAll(async () => {
  renderer = await PageRenderer.launch();
});

afterAll(() => renderer.close());

/** The ground truth of a page of 200 × 120 with this body. */
async function truthOf(body: string): Promise<ScreenTruth> {
  const style = '<style>body{margin:0;font:14px monospace;background:#fff}*{box-sizing:border-box}</style>';
  const page: GeneratedPage = {
    ...{ seed: 0, width: 200, height: 120, parts: [], assets: '' },
    html: `<!doctype html><html><head>${style}</head><body>${body}</body></html>`,
  };
  const [screen] = await renderer.renderAll([page]);
  return screen.truth;
}

const textOf = ({ characters }: ScreenTruth): string => characters.map(({ text }) => text).join('');

it('leaves out what is clipped, hidden, transparent or covered', async () => {
  const truth = await truthOf(`
    <div style="overflow:hidden;width:50px;white-space:nowrap">clip<span style="margin-left:40px">gone</span></div>
    <div style="visibility:hidden">hidden</div><div style="opacity:0.1">faint</div><div style="color:transparent">clear</div>
    <div>under</div><div style="position:absolute;left:0;top:84px;width:200px;height:36px;background:#eee">over</div>
    <div style="position:absolute;left:0;top:100px">top</div><div style="position:absolute;left:0;top:86px;z-index:-1">low</div>`);
  expect(textOf(truth)).toBe('clipunderovertop');
});

it('sees through what is transparent, not through what is not', async () => {
  const over = (color: string): string =>
    `<button data-e="1" data-k="button">press</button><div style="position:absolute;inset:0;background:${color}"></div>`;
  const shaded = await truthOf(over('rgba(0,0,0,0.3)'));
  expect(textOf(shaded)).toBe('press');
  expect(shaded.elements).toEqual([]);
  expect(textOf(await truthOf(over('rgba(0,0,0,0.9)')))).toBe('');
});

it('has characters as they are shown', async () => {
  const truth = await truthOf(
    '<p style="text-transform:uppercase">small</p><p style="text-transform:capitalize">two words</p>',
  );
  expect(textOf(truth)).toBe('SMALLTwoWords');
});

it('reads fields: values, placeholders, dots, scrolled texts, options', async () => {
  const truth = await truthOf(`
    <input data-e="1" data-k="text field" value="ab" style="width:90px"><input placeholder="hint" style="width:90px"><br>
    <input type="password" value="xyz"><br><select><option>one<option selected>two</select>
    <textarea style="display:block;height:20px;width:80px">l1\nl2\nl3</textarea>`);
  expect(textOf(truth)).toBe('abhint•••twol1');
  const [a, b] = truth.characters;
  expect(b.box[0] - a.box[0]).toBeCloseTo(a.box[2], 1);
  expect(truth.elements).toMatchObject([{ id: 1, kind: 'text field', value: 'ab', interactive: true }]);
});

it('says under which heading an element stands: of its column, of its dialog', async () => {
  const column = (id: number): string =>
    `<div style="width:90px"><b data-e="${id}" data-k="heading">H${id}</b><br><i data-e="${id + 1}" data-k="text">t</i></div>`;
  const { elements } = await truthOf(
    `<div style="display:flex">${column(1)}${column(3)}</div>
     <div style="position:absolute;left:20px;top:50px;background:#fff" data-e="9" data-k="dialog" data-name="D"><i data-e="10" data-k="text">in</i></div>`,
  );
  expect(Object.fromEntries(elements.map(({ id, under }) => [id, under]))).toEqual({
    1: undefined,
    2: 'H1',
    3: undefined,
    4: 'H3',
    9: undefined,
    10: 'D',
  });
});

it('gives a row a point beside the buttons in it', async () => {
  const { elements } = await truthOf(
    '<div data-e="1" data-k="list item" data-interactive="true" style="width:200px;text-align:center">a <button data-e="2" data-k="button" style="width:60px">b</button></div>',
  );
  const [row, button] = elements;
  expect(button).toMatchObject({ id: 2, parent: 1 });
  const [left, , width] = button.box;
  expect(row.center[0] < left || row.center[0] > left + width).toBe(true);
});

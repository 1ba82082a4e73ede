import { escape, mark, type Draft } from '../draft';
import type { Viewport, PlacedKind } from '../page';
import { pictureSvg } from '../widgets/pictures';
import { button, element, iconButton, Records, view } from './pieces';

function title(draft: Draft, text: string): string {
  return `<h2 ${mark(draft.id(), 'heading')}>${escape(text)}</h2>`;
}

/** A form for a journey, and its results. */
export function booking(draft: Draft, { height }: Viewport): string {
  const { texts, random, theme } = draft;
  const [what, verb] = random.pick([
    ['Flights', 'Book'],
    ['Trains', 'Choose'],
    ['Hotels', 'Reserve'],
    ['Ferries', 'Book'],
    ['Rental cars', 'Rent'],
  ]);
  const kinds: PlacedKind[] = [
    'autocomplete',
    ...(random.chance(0.6) ? (['autocomplete'] as const) : []),
    'date picker',
    random.pick(['radios', 'stepper', 'select', 'checkboxes']),
  ];
  const widgets = kinds.map((kind) => draft.widget(kind).html);
  const body = `b${draft.id()}`;
  const search = button(
    draft,
    random.pick(['Search', 'Find', 'Show offers', 'Go']),
    `data-submit="" data-shows="${body}"`,
  );
  draft.parts.push({ id: search.id, kind: 'buttons', name: 'Search' });
  const records = new Records(draft);
  const offers = texts
    .several(Math.max(2, Math.floor(height / (theme.size * 4.5))), () =>
      texts.cased(texts.phrase(texts.number(1, 2))),
    )
    .map((name, i) => {
      const price = `$${texts.number(20, 999)}`;
      const row = records.row(name, price);
      const take = records.action('book', button(draft, verb));
      return `<div class="mrow rw nw sb" ${mark(row, 'list item', { name, value: price, row: i })}><span>${element(draft, 'text', name)}<br><span class="mu sm">${texts.time()} - ${texts.time()}</span></span><span class="c" style="gap:1px;align-items:flex-end"><b>${price}</b>${take}</span></div>`;
    });
  records.add('offers');
  return `<div class="c" data-form="">${title(draft, random.pick([what, `Book ${what.toLowerCase()}`, `Find ${what.toLowerCase()}`]))}${widgets.join('')}${search.html}</div>${view(draft, body, `<div class="fill">${offers.join('')}</div>`)}`;
}

/** Products with prices. */
export function shop(draft: Draft, { width, height }: Viewport): string {
  const { texts, random, theme } = draft;
  const records = new Records(draft);
  const across = Math.max(1, Math.floor(width / Math.max(80, theme.size * 7)));
  const cellWidth = Math.floor((width - 2 * theme.padding) / across) - 6;
  const label = random.pick(['Add', 'Buy', 'Add to cart', 'Order', '+']);
  const cards = texts
    .several(across * Math.ceil(height / (theme.size * 7 + 30)), () =>
      texts.cased(texts.phrase(texts.number(1, 2))),
    )
    .map((name, i) => {
      const price = `$${texts.number(1, 400)}.${random.pick(['00', '50', '99', '95'])}`;
      const row = records.row(name, price);
      const add = records.action('add', button(draft, label));
      const like = random.chance(0.5)
        ? records.action(
            'heart',
            iconButton(draft, 'heart', 'data-pressable="" aria-pressed="false"', { row: i }),
          )
        : '';
      return `<div class="card" style="width:${cellWidth}px;overflow:hidden" ${mark(row, 'group', { name, value: price, row: Math.floor(i / across), column: i % across })}>${pictureSvg(draft, cellWidth - 14, 26)}<div ${mark(draft.id(), 'text')} style="overflow-wrap:anywhere">${escape(name)}</div><b>${price}</b><div class="rw nw" style="gap:3px">${add}${like}</div></div>`;
    });
  records.add('products');
  const head = `<div class="rw nw sb scenebar"><b ${mark(draft.id(), 'heading')}>${escape(random.pick(['Shop', 'Store', 'Products', 'Market', 'Sale']))}</b>${iconButton(draft, 'cart').html}</div>`;
  return `${head}<div class="rw" style="gap:4px;align-items:flex-start">${cards.join('')}</div>`;
}

/** Switches and choices under headings. */
export function settings(draft: Draft, { height }: Viewport): string {
  const { texts, random, theme } = draft;
  const sections: string[] = [];
  for (let used = 0; used < height;) {
    const kinds = Array.from({ length: texts.number(1, 3) }, () =>
      random.pick(['toggles', 'toggles', 'select', 'slider', 'stepper', 'radios', 'field'] as const),
    );
    const widgets = kinds.map((kind) => draft.widget(kind));
    sections.push(
      `<div class="fill">${title(
        draft,
        texts.fresh(() => texts.title()),
      )}<div class="card fill c">${widgets.map(({ html }) => html).join('')}</div></div>`,
    );
    used += widgets.reduce((sum, widget) => sum + widget.height, 2.5 * theme.size);
  }
  return `<div class="c">${sections.join('')}</div>`;
}

/** Figures, a chart and a table. */
export function dashboard(draft: Draft, { width }: Viewport): string {
  const { texts, random } = draft;
  const across = width < 200 ? 2 : random.pick([3, 4]);
  const cellWidth = Math.floor((width - 2 * draft.theme.padding) / across) - 5;
  const figures = texts
    .several(across, () => texts.cased(texts.word()))
    .map((name) => {
      const value = random.pick([() => texts.amount(), () => texts.quantity()])();
      return `<div class="card" style="width:${cellWidth}px;overflow:hidden" ${mark(draft.id(), 'group', { name, value })}><div class="mu sm nb">${escape(name)}</div><b class="nb">${escape(value)}</b></div>`;
    });
  const lower = random
    .shuffled(['chart', 'table', 'list'] as const)
    .slice(0, 2)
    .map((kind) => draft.widget(kind).html);
  return `<div class="c">${title(draft, random.pick(['Dashboard', 'Overview', 'Statistics', 'Report', texts.title()]))}<div class="rw nw" style="gap:4px">${figures.join('')}</div>${lower.join('')}</div>`;
}

/** Fields with a submit button: a login, an address, an order. */
export function form(draft: Draft, { height }: Viewport): string {
  const { texts, random, theme } = draft;
  const isLogin = random.chance(0.35);
  const id = draft.id();
  const count = Math.max(1, Math.min(texts.number(1, 5), Math.floor(height / (theme.size * 4))));
  const kinds: PlacedKind[] = isLogin
    ? ['field', 'password', ...(random.chance(0.5) ? (['checkboxes'] as const) : [])]
    : Array.from({ length: count }, () =>
        random.pick([
          'field',
          'field',
          'field',
          'text area',
          'select',
          'radios',
          'checkboxes',
          'spin button',
          'date picker',
        ] as const),
      );
  const before = draft.parts.length;
  const widgets = kinds.map((kind) => draft.widget(kind).html);
  const items = draft.parts.slice(before).map(({ id, name }) => ({ id, name }));
  const name = isLogin
    ? random.pick(['Log in', 'Sign in', 'Welcome back', 'Your account'])
    : texts.fresh(() => texts.title());
  const send = button(
    draft,
    isLogin
      ? random.pick(['Log in', 'Sign in', 'Enter'])
      : random.pick(['Submit', 'Send', 'Save', 'Continue', 'OK', 'Order']),
    'data-submit=""',
  );
  const extra = random.chance(0.4)
    ? button(draft, random.pick(['Cancel', 'Reset', 'Back', 'Clear'])).html
    : '';
  draft.parts.push({ id, kind: 'form', name, items, actions: [{ id: send.id, name: 'submit', row: 0 }] });
  const look = random.pick(['', '', 'card']);
  return `<div class="c ${look}" data-form="" ${mark(id, 'group', { name })}>${title(draft, name)}${widgets.join('')}<div class="rw">${send.html}${extra}</div></div>`;
}

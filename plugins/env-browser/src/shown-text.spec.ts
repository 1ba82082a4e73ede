import { CHECK_RESULTS, type Check, type CheckResult } from '@ui-rl/plugin-kit';
import { Lab, WebServer } from '../test/support';

const SHADOW = (mode: string, inner: string) =>
  `<div id="host"></div><script>host.attachShadow({ mode: '${mode}' }).innerHTML = '${inner}'</script>`;

describe('the text of a page', () => {
  const lab = new Lab();
  let web: WebServer;

  beforeAll(async () => {
    web = await WebServer.start((_request, response) => {
      response
        .setHeader('content-type', 'text/html')
        .end('<p>Thank you</p><iframe srcdoc="<p>Deep</p>"></iframe>');
    });
    await lab.start({ private_origins: [web.origin] });
  });
  afterAll(async () => {
    await lab.stop();
    await web.stop();
  });

  /** Whether each check holds immediately. */
  async function judge(html: string, checks: Check[], options: Record<string, unknown> = {}) {
    lab.page('p', html);
    const player = await lab.open({ page: 'p', ...options }, { checks });
    const results = (await player.close())![CHECK_RESULTS] as Record<number, CheckResult>;
    return checks.map((_, place) => results[place].holds);
  }

  const text = (
    value: string,
    operator: 'contains' | 'not_contains' | 'equals' | 'not_equals' | 'matches' = 'contains',
  ) => ({ kind: 'text', operator, value }) as const;

  it.each<[string, string]>([
    ['open shadow root', SHADOW('open', '<p>Thank you</p>')],
    ['closed shadow root', SHADOW('closed', '<p>Thank you</p>')],
    ['declared shadow root', '<div><template shadowrootmode="open"><p>Thank you</p></template></div>'],
    [
      'shadow root in a shadow root',
      '<div><template shadowrootmode="open"><div><template shadowrootmode="closed">Thank you</template></div></template></div>',
    ],
    [
      'slot, in the middle of a sentence',
      '<div><template shadowrootmode="open"><p>Thank <slot></slot></p></template>you</div>',
    ],
    [
      'slot that holds nothing',
      '<div><template shadowrootmode="open"><slot>Thank you</slot></template></div>',
    ],
    ['frame', '<iframe srcdoc="<p>Thank you</p>"></iframe>'],
    ['frame in a frame', '<iframe srcdoc="<iframe srcdoc=\'Thank you\'></iframe>"></iframe>'],
    ['frame in a shadow root', SHADOW('open', '<iframe srcdoc="Thank you"></iframe>')],
    ['field', '<input value="Thank you">'],
    ['field of several lines', '<textarea>Thank\nyou</textarea>'],
    ['button of a form', '<input type="submit" value="Thank you">'],
    ['chosen option', '<select><option>No<option selected>Thank you</select>'],
    ['label of an option', '<select><option label="Thank you">x</select>'],
    ['list of options', '<select size="2"><option>No<option>Thank you</select>'],
    ['no-break space', '<p>Thank&nbsp;you'],
    ['other spaces', '<p>Thank&emsp;&#x202f;you'],
    ['line break', '<p>Thank<br>you'],
    ['soft hyphen', '<p>Tha&shy;nk you&#8203;'],
    ['several elements', '<p>Thank <b>yo</b><i>u</i>'],
    ['drawing', '<svg><text y="20">Thank you</text></svg>'],
    ['part that is scrolled away', '<div style="height: 5000px"></div><p>Thank you'],
  ])('is that of a %s, too', async (_name, html) => {
    const body = `<p>Before</p>${html}<p>After</p>`;
    expect(
      await judge(body, [
        text('Thank you'),
        text(' Thank  you '),
        text('Thank you', 'not_contains'),
        text('*Thank you*After', 'matches'),
      ]),
    ).toEqual([true, true, false, true]);
  });

  it.each<[string, string]>([
    ['hidden element', '<p style="display: none">Thank you'],
    ['invisible element', '<p style="visibility: hidden">Thank you'],
    ['hidden frame', '<iframe style="display: none" srcdoc="Thank you"></iframe>'],
    ['invisible frame', '<iframe style="visibility: hidden" srcdoc="Thank you"></iframe>'],
    ['element without a slot', '<div><template shadowrootmode="open">x</template>Thank you</div>'],
    ['password', '<input type="password" value="Thank you">'],
    ['hidden field', '<input type="hidden" value="Thank you">'],
    ['checkbox', '<input type="checkbox" value="Thank you">'],
    ['option that is not chosen', '<select><option>No<option>Thank you</select>'],
    ['closed part', '<details><summary>More</summary>Thank you</details>'],
    [
      'template or script',
      '<template>Thank you</template><script>"Thank you"</script><noscript>Thank you</noscript>',
    ],
    ['attribute', '<img alt="Thank you" title="Thank you"><input placeholder="Thank you">'],
    ['word that continues in another block', '<p>Thank y</p><p>ou'],
    ['pair of controls', '<button>Thank y</button><button>ou</button>'],
  ])('is not that of a %s', async (_name, html) => {
    expect(await judge(html, [text('Thank you'), text('Thank you', 'not_contains')])).toEqual([false, true]);
  });

  it('is that of frames of other sites, and of the frames in these', async () => {
    const html = `<p>Here</p><iframe src="${web.origin}/"></iframe>`;
    const checks = [
      text('Thank you'),
      text('Deep'),
      text('Thank you', 'not_contains'),
      text('Here Thank you Deep', 'equals'),
    ];
    expect(await judge(html, checks, { allowed_origins: [web.origin] })).toEqual([true, true, false, true]);
  });

  it('is the same however its letters are made', async () => {
    const [made, whole] = ['Zu\u0308rich', 'Z\u00fcrich'];
    for (const [shown, wanted] of [
      [made, whole],
      [whole, made],
    ]) {
      const checks: Check[] = [
        text(wanted),
        text(wanted, 'not_contains'),
        { kind: 'element', selector: 'p', property: 'text', value: wanted },
        { kind: 'element', selector: 'input', property: 'value', value: wanted },
        { path: 'title', operator: 'equals', value: wanted },
      ];
      const html = `<title>${shown}</title><p>${shown}</p><input value="${shown}">`;
      lab.page('p', html);
      const state = (await (await lab.open({ page: 'p' }, { checks })).close())!;
      const results = state[CHECK_RESULTS] as Record<number, CheckResult>;
      expect([0, 1, 2, 3].map((place) => results[place].holds)).toEqual([true, false, true, true]);
    }
  });

  it('of an element has one kind of space, and is not known to lack what it has of frames and shadow roots', async () => {
    const element = (
      selector: string,
      operator: 'equals' | 'not_equals' | 'not_contains',
      value = 'Thank you',
    ) => ({ kind: 'element', selector, property: 'text', operator, value }) as const;
    const html = `<p id="a">Thank&nbsp;you</p><p id="b">Thank
      you</p><iframe srcdoc="Thank you"></iframe><div id="in">x<iframe srcdoc="Thank you"></iframe></div>${SHADOW('open', '<p id="within">Thank you</p>')}`;
    const checks: [Check, boolean][] = [
      [element('#a', 'equals'), true],
      [element('#b', 'equals'), true],
      [element('#a', 'not_equals'), false],
      [element('#a', 'not_contains', 'you'), false],
      [element('#a', 'not_contains', 'me'), true],
      [element('#within', 'equals'), true],
      [element('#host', 'not_contains'), false],
      [element('#in', 'not_contains'), false],
      [element('iframe', 'not_contains'), false],
    ];
    expect(
      await judge(
        html,
        checks.map(([check]) => check),
      ),
    ).toEqual(checks.map(([, holds]) => holds));
  });
});

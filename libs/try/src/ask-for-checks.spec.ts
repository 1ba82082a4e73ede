import { ask } from '@ui-rl/api';
import { Screen } from '../test/screen';
import { askForChecks } from './ask-for-checks';
import type { ShownProposal } from './view';

const proposal = (id: number, more: Partial<ShownProposal> = {}): ShownProposal => ({
  ...{ id, kind: 'text', words: `the page shows “${id}”`, isLikely: false, refused: null },
  ...more,
});
const PROPOSALS = [
  proposal(0, { isLikely: true }),
  proposal(1),
  proposal(2, { refused: 'it is another one each time' }),
  proposal(3, { isLikely: true, words: 'the page shows “\u001b[2Jhidden\u202e”' }),
];

let screen: Screen;
let page: AbortController;
beforeEach(() => {
  screen = new Screen();
  page = new AbortController();
});
const picked = (proposals = PROPOSALS) => askForChecks(proposals, page.signal, screen.terminal);
const PROMPT = 'numbers, or Enter for those with a star: ';

it('shows what can be picked and what cannot, and nothing of a page that moves the cursor', async () => {
  const ids = picked();
  await screen.shows(PROMPT);
  expect(screen.isRaw).toBe(true);
  const list = screen.text.slice(0, screen.text.indexOf('\u001b['));
  expect(list.trimEnd().split('\n')).toEqual(
    [
      '',
      'When is the task done? Pick here or on the page.',
      '*  0  text       the page shows “0”',
      '   1  text       the page shows “1”',
      '*  3  text       the page shows “ [2Jhidden ”',
      '   –  text       the page shows “2”: it is another one each time',
    ].map((line) => expect.stringMatching(new RegExp(`^${line.replace(/[[*?.]/g, '\\$&')}`)) as string),
  );
  screen.type('\r');
  expect(await ids).toEqual([0, 3]);
  expect(screen.isRaw).toBe(false);
});

it.each([
  ['1\r', [1]],
  [' 3,  0 \r', [3, 0]],
  ['1 1 1\r', [1]],
  ['7\u007f0\r', [0]],
])('takes %j', async (keys, expected) => {
  const ids = picked();
  await screen.shows(PROMPT);
  screen.type(keys);
  expect(await ids).toEqual(expected);
});

it.each([
  ['2\r', 'found 2'],
  ['text\r', 'found text'],
  ['1 9\r', 'found 1 9'],
  [', ,\r', 'found , ,'],
])('asks again after %j', async (keys, found) => {
  const ids = picked();
  await screen.shows(PROMPT);
  screen.type(keys);
  await screen.shows(`expected numbers of the list (0, 1, 3), separated by spaces or commas; ${found}`);
  screen.type('1\r');
  expect(await ids).toEqual([1]);
});

it('asks for numbers where none has a star', async () => {
  const ids = picked([proposal(4)]);
  await screen.shows('numbers: ');
  screen.type('\r');
  await screen.shows('found none');
  screen.type('4\r');
  expect(await ids).toEqual([4]);
});

it('ends where the page has picked, and gives the terminal back', async () => {
  const ids = picked();
  await screen.shows(PROMPT);
  page.abort();
  await expect(ids).rejects.toThrow(/aborted/);
  expect(screen.isRaw).toBe(false);
  expect(screen.text.endsWith('\n')).toBe(true);
});

it('leaves Ctrl-C to the process, and what comes of it to the signal', async () => {
  const ids = picked();
  await screen.shows(PROMPT);
  screen.type('\u0003');
  await screen.shows(PROMPT);
  expect(screen.interrupts).toBe(1);
  page.abort('SIGINT');
  await expect(ids).rejects.toThrow(/aborted/);
});

it('leaves picking to the page when the terminal is closed', async () => {
  const ids = picked();
  await screen.shows(PROMPT);
  screen.type('\u0004');
  await screen.shows('Pick on the page, or end with Ctrl-C.');
  page.abort();
  await expect(ids).rejects.toThrow(/stopped by/);
});

it('a question at the end of the input has no answer', async () => {
  const answer = ask('overwrite, resume or skip? ', screen.terminal);
  await screen.shows('skip? ');
  screen.type('\u0004');
  expect(await answer).toBeUndefined();
});

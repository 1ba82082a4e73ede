import { PassThrough } from 'node:stream';
import { PagePipe } from './page-pipe';

const ADDRESS = 'file:///page/index.html';

interface Asked {
  id: number;
  method: string;
}

/** A fake browser that replies to evaluations with the given answers in order, then stays silent. */
function browserThatSays(answers: object[]) {
  const [asked, answered] = [new PassThrough(), new PassThrough()];
  const tells = (message: object) => answered.write(`${JSON.stringify(message)}\0`);
  let evaluated = 0;
  asked.on('data', (chunk: Buffer) => {
    const { id, method } = JSON.parse(chunk.toString().slice(0, -1)) as Asked;
    const target = { targetId: 't', type: 'page', url: ADDRESS };
    const answer =
      {
        'Target.getTargets': { result: { targetInfos: [target] } },
        'Target.attachToTarget': { result: { sessionId: 's' } },
      }[method] ?? answers[evaluated++];
    if (answer !== undefined) tells({ id, ...answer });
  });
  return { pipe: new PagePipe(asked, answered), evaluated: () => evaluated, tells };
}

const says = (value: unknown) => ({ result: { result: { value } } });
/** The reply of a loaded page: the evaluated value. */
const answers = (value: unknown) => says({ value });
const notYet = says(undefined);
const failsWith = (message: string) => ({ error: { message } });
const replaced = failsWith('Inspected target navigated or closed');

it('waits for the page at its address, and ignores the empty page before it', async () => {
  const { pipe, evaluated } = browserThatSays([notYet, replaced, notYet, answers('late'), answers('later')]);
  await pipe.attach(ADDRESS);
  expect(await pipe.evaluate('title')).toBe('late');
  expect(evaluated()).toBe(4);
});

it.each([
  'Inspected target navigated or closed',
  'Execution context was destroyed.',
  'Cannot find context with specified id',
])('asks the page that takes the place of the one that was asked: %s', async (message) => {
  const { pipe } = browserThatSays([failsWith(message), notYet, answers('next')]);
  await pipe.attach(ADDRESS);
  expect(await pipe.evaluate('title')).toBe('next');
  expect(pipe.isClosed).toBe(false);
});

it('does not wait for a page that is gone', async () => {
  const { pipe, evaluated } = browserThatSays([notYet, failsWith('Session with given id not found.')]);
  await pipe.attach(ADDRESS);
  await expect(pipe.evaluate('title')).rejects.toThrow('the page is gone: Session with given id not found.');
  expect(evaluated()).toBe(2);
  expect(pipe.isClosed).toBe(true);
});

it('does not wait for a page that has crashed and is still open', async () => {
  const { pipe, tells } = browserThatSays([]);
  await pipe.attach(ADDRESS);
  const asked = pipe.evaluate('title');
  tells({ method: 'Inspector.targetCrashed', params: {} });
  await expect(asked).rejects.toThrow('the page is gone: its process has ended');
  await expect(pipe.evaluate('title')).rejects.toThrow('its process has ended');
  expect(pipe.isClosed).toBe(false);
});

it('does not ask again what a page throws at', async () => {
  const thrown = { result: { result: {}, exceptionDetails: { text: 'Uncaught', exception: {} } } };
  const { pipe, evaluated } = browserThatSays([thrown]);
  await pipe.attach(ADDRESS);
  await expect(pipe.evaluate('state()')).rejects.toThrow('the page throws Uncaught');
  expect(evaluated()).toBe(1);
});

it('asks a page that does not come no more after it was given up', async () => {
  const { pipe, evaluated } = browserThatSays(new Array<object>(1_000).fill(notYet));
  await pipe.attach(ADDRESS);
  const givenUp = new AbortController();
  const answer = pipe.evaluate('title', givenUp.signal);
  givenUp.abort();
  await expect(answer).rejects.toThrow('aborted');
  expect(evaluated()).toBe(1);
});

it.each([
  'no JSON',
  '',
  '{"id":',
  'null',
  '7',
  '[]',
  '{"id":1,"error":null}',
  '{"id":1,"error":{}}',
  '\u001b[2J',
])('takes a browser that says %j for gone, and stays up', async (text) => {
  const [asked, answered] = [new PassThrough(), new PassThrough()];
  const pipe = new PagePipe(asked, answered);
  const attached = pipe.attach(ADDRESS);
  answered.write(`${text}\0`);
  await expect(attached).rejects.toThrow('the browser is gone');
  await expect(pipe.evaluate('title')).rejects.toThrow('the browser is gone');
  expect(pipe.isClosed).toBe(true);
});

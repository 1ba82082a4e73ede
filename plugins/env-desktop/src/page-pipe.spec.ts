import { PassThrough } from 'node:stream';
import { PagePipe } from './page-pipe';

const ADDRESS = 'file:///page/index.html';

interface Asked {
  id: number;
  method: string;
}

/** A browser that answers what it is asked to evaluate with one answer after the other. */
function browserThatSays(answers: object[]) {
  const [asked, answered] = [new PassThrough(), new PassThrough()];
  let evaluated = 0;
  asked.on('data', (chunk: Buffer) => {
    const { id, method } = JSON.parse(chunk.toString().slice(0, -1)) as Asked;
    const target = { targetId: 't', type: 'page', url: ADDRESS };
    const answer =
      {
        'Target.getTargets': { result: { targetInfos: [target] } },
        'Target.attachToTarget': { result: { sessionId: 's' } },
      }[method] ?? answers[evaluated++];
    answered.write(`${JSON.stringify({ id, ...answer })}\0`);
  });
  return { pipe: new PagePipe(asked, answered), evaluated: () => evaluated };
}

const says = (value: unknown) => ({ result: { result: { value } } });

it('waits for the page behind its address, whatever the empty page before it says', async () => {
  const replaced = { error: { message: 'Inspected target navigated or closed' } };
  const { pipe, evaluated } = browserThatSays([says(false), replaced, says(false), says(true), says('late')]);
  await pipe.attach(ADDRESS);
  await pipe.loaded();
  expect(evaluated()).toBe(4);
  expect(await pipe.evaluate('title')).toBe('late');
});

it('does not wait for a page that is gone', async () => {
  const { pipe } = browserThatSays([says(false), { error: { message: 'Session with given id not found.' } }]);
  await pipe.attach(ADDRESS);
  await expect(pipe.loaded()).rejects.toThrow('the page is gone: Session with given id not found.');
});

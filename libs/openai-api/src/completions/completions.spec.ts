import OpenAI from 'openai';
import { KEY, openFor, Speaker } from '../../test/speaker';
import type { Endpoint } from '../http/server';

let endpoint: Endpoint;
let client: OpenAI;

beforeAll(async () => {
  endpoint = await openFor(new Speaker());
  client = new OpenAI({ baseURL: `${endpoint.url}/v1`, apiKey: KEY, maxRetries: 0 });
});
afterAll(() => endpoint.close());

async function all<T>(events: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const event of events) found.push(event);
  return found;
}

const asked = { model: 'latest', prompt: 'hi', stop: 'wo', n: 2 };

it('stops at stop sequences, also in a stream, which says how many tokens there were', async () => {
  const { choices, usage } = await client.completions.create(asked);
  expect(choices.map(({ text, finish_reason }) => [text, finish_reason])).toEqual([
    ['one t', 'stop'],
    ['one t', 'stop'],
  ]);
  const stream_options = { include_usage: true };
  const chunks = await all(await client.completions.create({ ...asked, stream: true, stream_options }));
  const textOf = (index: number) =>
    chunks
      .flatMap((chunk) => chunk.choices.filter((choice) => choice.index === index))
      .map(({ text }) => text);
  expect([textOf(0).join(''), textOf(1).join('')]).toEqual(['one t', 'one t']);
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage });
});

it('streams tokens one by one', async () => {
  const chunks = await all(await client.completions.create({ model: 'latest', prompt: 'hi', stream: true }));
  expect(chunks.map(({ choices: [{ text }] }) => text)).toEqual(['one ', 'two ', 'three', '']);
});

import OpenAI from 'openai';
import { eventually } from '@ui-rl/testkit';
import { KEY, openFor, Speaker } from '../../test/speaker';
import type { PolicyAnswer, PolicyRequest } from '../policy';
import { ResponseStore } from '../responses/store';
import type { Endpoint } from './server';

const opened: Endpoint[] = [];
afterEach(() => Promise.all(opened.splice(0).map((endpoint) => endpoint.close())));

async function clientOf(speaker: Speaker): Promise<OpenAI> {
  const endpoint = await openFor(speaker);
  opened.push(endpoint);
  return new OpenAI({ baseURL: `${endpoint.url}/v1`, apiKey: KEY, maxRetries: 0 });
}

const user = (content: string) => [{ role: 'user' as const, content }];

it('samples no further answers of a request of which one has failed', async () => {
  const speaker = new (class extends Speaker {
    override async answer(request: PolicyRequest): Promise<PolicyAnswer> {
      this.asked.push(request);
      if (this.asked.length === 3) throw new Error('no more');
      return new Promise((_, reject) =>
        request.signal.addEventListener('abort', () => reject(new Error('gone'))),
      );
    }
  })();
  const client = await clientOf(speaker);
  await expect(client.completions.create({ model: 'latest', prompt: 'hi', n: 3 })).rejects.toMatchObject({
    status: 500,
  });
  const aborted = () => speaker.asked.filter(({ signal }) => signal.aborted).length;
  await eventually('the others to end', () => aborted() === 3);
});

it('tells a caller nothing of a server behind the policy, whose status is its own', async () => {
  const speaker = new (class extends Speaker {
    override async answer(): Promise<PolicyAnswer> {
      throw Object.assign(new Error('http://gpu-1:8000/v1/completions answered 404: no such model'), {
        status: 404,
      });
    }
  })();
  const client = await clientOf(speaker);
  const asked = client.chat.completions.create({ model: 'latest', messages: user('hi') });
  await expect(asked).rejects.toMatchObject({ status: 500, message: expect.not.stringContaining('gpu-1') });
});

it('tells one call of an answer where the caller wants no parallel ones', async () => {
  const speaker = new Speaker();
  const call = (place: string) =>
    `<tool_call>{"name": "get_weather", "arguments": {"place": "${place}"}}</tool_call>`;
  speaker.says = `${call('Bern')}${call('Rome')}`;
  const client = await clientOf(speaker);
  const tool = { name: 'get_weather', parameters: { type: 'object', properties: {} } };
  const asked = { model: 'latest', parallel_tool_calls: false };
  const chat = await client.chat.completions.create({
    ...{ ...asked, messages: user('weather?') },
    tools: [{ type: 'function', function: tool }],
  });
  expect(chat.choices[0].message).toMatchObject({
    content: null,
    tool_calls: [{ function: { arguments: '{"place":"Bern"}' } }],
  });
  expect(chat.choices[0].message.tool_calls).toHaveLength(1);
  const { output } = await client.responses.create({
    ...{ ...asked, input: 'weather?' },
    tools: [{ type: 'function', strict: null, ...tool }],
  });
  expect(output).toMatchObject([{ type: 'function_call', arguments: '{"place":"Bern"}' }]);
});

it('takes no role and no text that only looks like one', async () => {
  const client = await clientOf(new Speaker());
  const messages = [{ role: 'constructor', content: 'hi' }] as never;
  await expect(client.chat.completions.create({ model: 'latest', messages })).rejects.toMatchObject({
    status: 400,
    param: 'messages[0].role',
  });
  for (const metadata of [{ a: 'x'.repeat(513) }, { a: 5 }]) {
    const asked = client.responses.create({ model: 'latest', input: 'hi', metadata: metadata as never });
    await expect(asked).rejects.toMatchObject({ status: 400, param: 'metadata' });
  }
});

it('keeps no more responses than there is memory for, with any content', () => {
  const store = new ResponseStore();
  const conversation = { messages: [], images: [], tools: [] };
  const kept = 300;
  for (let index = 0; index < kept; index += 1) {
    store.put(`resp_${index}`, { conversation, calls: [], resource: { output: 'x'.repeat(2 ** 20) } });
  }
  const found = Array.from({ length: kept }, (_, index) => store.get(`resp_${index}`)).filter(Boolean);
  expect(found.length).toBeGreaterThan(100);
  expect(found.length).toBeLessThanOrEqual(128);
});

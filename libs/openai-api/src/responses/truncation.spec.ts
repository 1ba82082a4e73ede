import OpenAI from 'openai';
import { eventually } from '@ui-rl/testkit';
import { KEY, openFor, Speaker } from '../../test/speaker';
import type { Endpoint } from '../http/server';
import type { PolicyAnswer, PolicyPrompt, PolicyRequest } from '../policy';
import { ApiError } from '../errors';

const ROOM = 7;

function messagesIn(prompt: PolicyPrompt): number {
  return prompt.kind === 'conversation' ? prompt.conversation.messages.length : 0;
}

/** A policy whose prompts have up to seven messages. */
class Narrow extends Speaker {
  override async answer(request: PolicyRequest): Promise<PolicyAnswer> {
    if (messagesIn(request.prompt) > ROOM) {
      this.asked.push(request);
      throw new ApiError(400, 'too long', 'context_length_exceeded', 'messages');
    }
    return super.answer(request);
  }
}

/** One that implements `fits`. */
class Telling extends Narrow {
  readonly tried: number[] = [];

  async fits(prompt: PolicyPrompt, _signal: AbortSignal): Promise<boolean> {
    this.tried.push(messagesIn(prompt));
    return messagesIn(prompt) <= ROOM;
  }
}

const opened: Endpoint[] = [];
afterEach(() => Promise.all(opened.splice(0).map((endpoint) => endpoint.close())));

async function open(speaker: Speaker): Promise<{ client: OpenAI; endpoint: Endpoint }> {
  const endpoint = await openFor(speaker);
  opened.push(endpoint);
  return { endpoint, client: new OpenAI({ baseURL: `${endpoint.url}/v1`, apiKey: KEY, maxRetries: 0 }) };
}

function asked(turns: number): OpenAI.Responses.ResponseCreateParamsNonStreaming {
  const input = Array.from({ length: turns }, (_, index) => [
    { role: 'user' as const, content: `${index}` },
    { role: 'assistant' as const, content: 'ok' },
  ]).flat();
  const system = { role: 'system' as const, content: 'Be short.' };
  return { model: 'latest', truncation: 'auto', input: [system, ...input.slice(0, -1)] };
}

const texts = ({ prompt }: PolicyRequest) =>
  prompt.kind === 'conversation' ? prompt.conversation.messages.map(({ content: [{ text }] }) => text) : [];

it.each([3, 4, 5, 10, 100, 512])('leaves out the oldest of %i turns, as few as it has to', async (turns) => {
  for (const speaker of [new Narrow(), new Telling()]) {
    const { client } = await open(speaker);
    await client.responses.create(asked(turns));
    const kept = Array.from(
      { length: Math.min(turns, 3) },
      (_, index) => `${turns - Math.min(turns, 3) + index}`,
    );
    expect(texts(speaker.asked.at(-1)!)).toEqual([
      'Be short.',
      ...kept.flatMap((text) => [text, 'ok']).slice(0, -1),
    ]);
  }
});

it('looks at few prompts of a long conversation, and samples once', async () => {
  const speaker = new Telling();
  const { client } = await open(speaker);
  await client.responses.create(asked(512));
  expect(speaker.tried.length).toBeLessThanOrEqual(11);
  expect(speaker.asked).toHaveLength(1);
});

it('says that not even the last turn has room', async () => {
  const { client } = await open(new Telling());
  const [first, ...rest] = asked(1).input as OpenAI.Responses.ResponseInputItem[];
  const answers = Array.from({ length: 9 }, () => ({ role: 'assistant' as const, content: 'ok' }));
  const input = [first, ...rest, ...answers];
  await expect(client.responses.create({ ...asked(1), input })).rejects.toMatchObject({
    status: 400,
    code: 'context_length_exceeded',
  });
});

it('looks no further for a caller who is gone', async () => {
  const gone = new AbortController();
  const speaker = new (class extends Telling {
    override async fits(prompt: PolicyPrompt, signal: AbortSignal): Promise<boolean> {
      const fits = await super.fits(prompt, signal);
      gone.abort();
      await eventually('the caller to be missed', () => signal.aborted);
      return fits;
    }
  })();
  const { client, endpoint } = await open(speaker);
  await expect(client.responses.create(asked(100), { signal: gone.signal })).rejects.toThrow(/abort/i);
  await eventually('the request to end', () => endpoint.active === 0);
  expect([speaker.tried.length, speaker.asked.length]).toEqual([1, 0]);
});

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { ZerosServer } from '@ui-rl/testkit';
import { Endpoint } from './endpoint';
import { JudgeOptions } from './options';

const log = (): void => undefined;

function vote(base_url: string): Promise<unknown> {
  const options = Object.assign(new JudgeOptions(), { base_url, model: 'm' });
  const signal = new AbortController().signal;
  return new Endpoint(options, undefined, log).vote('s', [], { signal, deadlineAt: Date.now() + 60_000 });
}

it.each(['/endless', '/bomb'])('gives up an answer like %s at its limit', async (path) => {
  const server = await ZerosServer.start();
  try {
    await expect(vote(`${server.address}${path}/v1`)).rejects.toThrow(/: answered more than 4194304 bytes$/);
  } finally {
    await server.stop();
  }
});

it.each(['169.254.169.254', '[64:ff9b::a9fe:a9fe]'])(
  'does not ask %s, a link-local address',
  async (host) => {
    await expect(vote(`http://${host}/v1`)).rejects.toThrow(
      /cannot be reached: .* is a link-local address, which is not allowed here/,
    );
  },
);

/** A server that rejects requests with a schema, or with `max_tokens`, by an error of the given form. */
async function refusing(form: (words: string, field: string) => unknown) {
  const asked: Record<string, unknown>[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const given = JSON.parse(await text(request)) as Record<string, unknown>;
    asked.push(given);
    const field = ['response_format', 'max_tokens'].find((name) => name in given);
    const hint = field === 'max_tokens' ? ', use max_completion_tokens' : '';
    const message = { role: 'assistant', content: '{"reason": "done", "success": true}' };
    const body =
      field === undefined
        ? { choices: [{ message, finish_reason: 'stop' }] }
        : form(`${field} is not supported${hint}`, field);
    response.writeHead(field === undefined ? 200 : 422, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return { address, asked, stop: () => new Promise((closed) => server.close(closed)) };
}

it.each<[string, (words: string, field: string) => unknown]>([
  ['OpenAI', (message, param) => ({ error: { message, param, type: 'invalid_request_error' } })],
  ['vLLM, SGLang', (message) => ({ object: 'error', message, code: 422 })],
  ['FastAPI', (msg, field) => ({ detail: [{ loc: ['body', field], msg, type: 'extra_forbidden' }] })],
  ['Starlette', (detail) => ({ detail })],
  ['Ollama', (error) => ({ error })],
  ['Google', (message) => [{ error: { code: 422, message, status: 'INVALID_ARGUMENT' } }]],
  ['OpenRouter', (raw) => ({ error: { message: 'Provider returned error', metadata: { raw } } })],
])('asks in another way where a server of the form of %s wants that', async (_, form) => {
  const { address, asked, stop } = await refusing(form);
  try {
    await expect(vote(address)).resolves.toMatchObject({ success: true });
    expect(asked.map((body) => ['response_format', 'max_tokens'].filter((name) => name in body))).toEqual([
      ['response_format', 'max_tokens'],
      ['max_tokens'],
      [],
    ]);
  } finally {
    await stop();
  }
});

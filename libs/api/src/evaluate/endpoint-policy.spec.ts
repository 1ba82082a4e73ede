import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Clock } from '@ui-rl/episode';
import { ZerosServer } from '@ui-rl/testkit';
import { EndpointPolicy } from './endpoint-policy';

type Body = Record<string, unknown>;
type Refusal = (body: Body) => object | string | undefined;

const SAMPLING = { maxTokens: 64, temperature: 0, topP: 1, seed: 5 };
const KNOWN = ['max_tokens', 'temperature', 'top_p', 'seed'];

let server: Server;
let address: string;
let refuse: Refusal;
let status: number;
let bodies: Body[];
let warnings: string[];

beforeAll(async () => {
  server = createServer((request, response) => {
    void (async () => {
      const body = JSON.parse(await text(request)) as Body;
      bodies.push(body);
      const refused = refuse(body);
      const answer = {
        choices: [{ message: { role: 'assistant', content: 'white' }, finish_reason: 'stop' }],
      };
      response.statusCode = refused === undefined ? 200 : status;
      response.setHeader('content-type', typeof refused === 'string' ? 'text/plain' : 'application/json');
      response.end(typeof refused === 'string' ? refused : JSON.stringify(refused ?? answer));
    })();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterAll(() => new Promise((closed) => server.close(closed)));
beforeEach(() => {
  [bodies, warnings, status] = [[], [], 400];
  refuse = () => undefined;
});

function policyOf(): EndpointPolicy {
  return new EndpointPolicy({ address, model: 'm', onWarning: (message) => warnings.push(message) });
}

/** The sampling parameters of the last request. */
function sampled(): Body {
  const { model, messages, ...rest } = bodies.at(-1)!;
  expect([model, messages]).toEqual(['m', expect.any(Array)]);
  return rest;
}

const openai = (message: string, param: string | null = null, code: string | null = null) => ({
  error: { message, type: 'invalid_request_error', param, code },
});
const unsupported = (name: string) =>
  openai(`Unsupported parameter: '${name}' is not supported with this model.`, name, 'unsupported_parameter');
/** A server that rejects a parameter, in a given wording, while requests contain it. */
const without =
  (name: string, error: object | string): Refusal =>
  (body) =>
    name in body ? error : undefined;

it('sends everything that says how an answer is sampled, so that nothing of it is left to the server', async () => {
  await policyOf().check({ ...SAMPLING, temperature: 1 });
  expect(sampled()).toEqual({ max_tokens: 64, temperature: 1, top_p: 1, seed: 5 });
  await policyOf().check({ ...SAMPLING, topP: 0.9 });
  expect(sampled()).toEqual({ max_tokens: 64, temperature: 0, top_p: 0.9, seed: 5 });
  expect(warnings).toEqual([]);
});

it.each([
  ['OpenAI', 'temperature', unsupported('temperature')],
  [
    'OpenAI, a value',
    'temperature',
    openai(
      "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
      'temperature',
      'unsupported_value',
    ),
  ],
  ['OpenAI', 'top_p', unsupported('top_p')],
  ['OpenAI', 'seed', openai('Unrecognized request argument supplied: seed')],
  [
    'vLLM before 0.10, without "error"',
    'seed',
    { object: 'error', message: 'seed is not supported', type: 'BadRequestError', param: null, code: 400 },
  ],
  [
    'SGLang',
    'temperature',
    { object: 'error', message: 'temperature must be positive', type: 'BadRequest', param: null, code: 400 },
  ],
  [
    'llama.cpp',
    'seed',
    { error: { code: 400, message: 'Field "seed" is unknown', type: 'invalid_request_error' } },
  ],
  [
    'FastAPI',
    'seed',
    {
      detail: [
        { type: 'extra_forbidden', loc: ['body', 'seed'], msg: 'Extra inputs are not permitted', input: 5 },
      ],
    },
  ],
  [
    'Mistral',
    'seed',
    {
      object: 'error',
      message: {
        detail: [{ type: 'extra_forbidden', loc: ['body', 'seed'], msg: 'Extra inputs are not permitted' }],
      },
      type: 'invalid_request_error',
    },
  ],
  [
    'Azure, a model of others',
    'seed',
    {
      error: {
        code: 'Invalid input',
        message: 'invalid input error',
        details: [{ type: 'extra_forbidden', loc: ['body', 'seed'], msg: 'Extra inputs are not permitted' }],
      },
    },
  ],
  [
    'Google, a list',
    'seed',
    [
      {
        error: {
          code: 400,
          message: 'Invalid JSON payload received. Unknown name "seed": Cannot find field.',
        },
      },
    ],
  ],
  [
    'OpenRouter, an error in an error',
    'temperature',
    {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: { raw: JSON.stringify(unsupported('temperature')), provider_name: 'OpenAI' },
      },
    },
  ],
  ['TGI, a text for an error', 'top_p', { error: 'Input validation error: `top_p` must be > 0.0 and < 1.0' }],
  ['a proxy, text alone', 'temperature', 'temperature is deprecated for this model'],
  [
    'Bedrock, camel case',
    'top_p',
    { message: 'Malformed input request: extraneous key [topP] is not permitted' },
  ],
])('%s refuses %s: asked without it, and said', async (_server, name, error) => {
  refuse = without(name, error);
  const policy = policyOf();
  await policy.check(SAMPLING);
  expect(Object.keys(sampled()).sort()).toEqual(KNOWN.filter((each) => each !== name).sort());
  expect(bodies).toHaveLength(2);
  expect(policy.refused).toEqual([name]);
  expect(warnings).toEqual([
    expect.stringMatching(new RegExp(`^m at .* refuses ${name}.* is asked without it`)),
  ]);
  await policy.check(SAMPLING);
  expect(bodies).toHaveLength(3);
  expect(warnings).toHaveLength(1);
});

it('takes what is refused one after the other, in one question', async () => {
  refuse = (body) => {
    if ('max_tokens' in body)
      return openai(
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        'max_tokens',
        'unsupported_parameter',
      );
    const [name] = ['temperature', 'top_p', 'seed'].filter((each) => each in body);
    return name === undefined ? undefined : unsupported(name);
  };
  const policy = policyOf();
  await policy.check(SAMPLING);
  expect(sampled()).toEqual({ max_completion_tokens: 64 });
  expect(policy.refused.sort()).toEqual(['seed', 'temperature', 'top_p']);
  expect(warnings).toHaveLength(3);
});

it('the log has no line for a limit with another name, and names one that the endpoint does not have', async () => {
  refuse = without('max_tokens', unsupported('max_tokens'));
  const renamed = policyOf();
  await renamed.check(SAMPLING);
  expect(sampled()).toMatchObject({ max_completion_tokens: 64, temperature: 0 });
  expect([renamed.refused, warnings]).toEqual([[], []]);
  refuse = (body) =>
    [
      without('max_tokens', unsupported('max_tokens'))(body),
      without('max_completion_tokens', unsupported('max_completion_tokens'))(body),
    ].find(Boolean);
  const unlimited = policyOf();
  await unlimited.check(SAMPLING);
  expect(sampled()).toEqual({ temperature: 0, top_p: 1, seed: 5 });
  expect(unlimited.refused).toEqual(['max_tokens']);
  expect(warnings).toEqual([
    expect.stringMatching(/refuses max_tokens 64 .* longer than rollout\.max_tokens$/),
  ]);
});

it('leaves out what is at its default where a server takes but one of two', async () => {
  const either = '`temperature` and `top_p` cannot both be specified for this model. Please use only one.';
  refuse = (body) => ('temperature' in body && 'top_p' in body ? openai(either) : undefined);
  await policyOf().check(SAMPLING);
  expect(sampled()).toEqual({ max_tokens: 64, temperature: 0, seed: 5 });
  await policyOf().check({ ...SAMPLING, temperature: 1, topP: 0.9 });
  expect(sampled()).toEqual({ max_tokens: 64, top_p: 0.9, seed: 5 });
});

it.each([
  'max_tokens is too large: 64. This model supports at most 32 completion tokens',
  "'max_tokens' or 'max_completion_tokens' is too large: 64. This model's maximum context length is 32 tokens",
])('continues with at most as many tokens as the endpoint allows: %s', async (message) => {
  refuse = () => openai(message, 'max_tokens', 'invalid_value');
  await expect(policyOf().check(SAMPLING)).rejects.toThrow(message);
  expect(bodies).toHaveLength(1);
});

it('keeps on sending what an error names for another reason', async () => {
  refuse = (body) =>
    JSON.stringify(body).includes('heat')
      ? openai('the prompt is refused: set the temperature to 20')
      : undefined;
  const policy = policyOf();
  const ask = (words: string) =>
    policy.act(
      {
        ...SAMPLING,
        runId: 'run',
        requestId: 'r/0',
        policy: 'latest',
        images: [],
        messages: [{ role: 'user', content: [{ type: 'text', text: words }] }],
      },
      { leftMs: 10_000, race: <T>(work: Promise<T>) => work } as unknown as Clock,
    );
  await expect(ask('turn up the heat')).rejects.toThrow(/set the temperature to 20/);
  await ask('hello');
  expect(sampled()).toMatchObject({ temperature: 0 });
  expect([policy.refused, warnings]).toEqual([[], []]);
});

it.each([
  [{ object: 'error', message: 'no pictures here', code: 400 }, 'no pictures here'],
  [{ detail: 'no pictures here' }, 'no pictures here'],
  [{ error: 'no pictures here' }, 'no pictures here'],
  [{ wrong: true }, '{"wrong":true}'],
  ['no pictures here', 'no pictures here'],
])('says what the server says: %j', async (error, said) => {
  refuse = () => error;
  await expect(policyOf().check(SAMPLING)).rejects.toThrow(`m at ${address} answered 400 ${said}`);
});

it('says that an endpoint answers too much, and reads no more of it', async () => {
  const zeros = await ZerosServer.start();
  try {
    const policy = new EndpointPolicy({
      address: `${zeros.address}/bomb/v1`,
      model: 'm',
      onWarning: () => undefined,
    });
    await expect(policy.check({ maxTokens: 8, temperature: 1, topP: 1, seed: 0 })).rejects.toThrow(
      `m at ${zeros.address}/bomb/v1 answered more than 16777216 bytes`,
    );
  } finally {
    await zeros.stop();
  }
});

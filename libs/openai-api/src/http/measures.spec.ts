import OpenAI from 'openai';
import { register } from 'prom-client';
import { KEY, openFor, Speaker } from '../../test/speaker';
import type { Endpoint } from './server';

const OTHER = 'another-key-for-tests';
const speaker = new Speaker();
let endpoint: Endpoint;

beforeAll(async () => {
  endpoint = await openFor(speaker, { keys: [OTHER, KEY] });
});
afterAll(() => endpoint.close());
beforeEach(() => register.resetMetrics());

const clientOf = (apiKey: string) => new OpenAI({ baseURL: `${endpoint.url}/v1`, apiKey, maxRetries: 0 });
const messages = [{ role: 'user' as const, content: 'hi' }];

/** The lines of a metric, without buckets. */
async function linesOf(name: string): Promise<string[]> {
  const text = await register.getSingleMetricAsString(name);
  return text.split('\n').filter((line) => !/^#|_bucket/.test(line) && line !== '');
}

it('counts requests and tokens by route, model and key, whose text is nowhere', async () => {
  await clientOf(KEY).chat.completions.create({ model: 'latest', messages, n: 2 });
  await clientOf(OTHER).responses.create({ model: 'uirl://run/sampler_weights/000001', input: 'hi' });
  await clientOf(OTHER).completions.create({ model: 'small', prompt: 'hi' });
  const counts = (await linesOf('gen_ai_server_request_duration_seconds')).filter((line) =>
    line.includes('_count'),
  );
  const head = 'gen_ai_server_request_duration_seconds_count';
  const labels = (operation: string, route: string, model: string, key: string) =>
    `gen_ai_operation_name="${operation}",http_route="/v1/${route}",gen_ai_request_model="${model}",api_key="${key}"`;
  const sorted = counts.map((line) =>
    [...line.matchAll(/(\w+)="([^"]*)"/g)]
      .map(([, name, value]) => `${name}=${value}`)
      .sort()
      .join(),
  );
  const expected = [
    labels('chat', 'chat/completions', 'latest', '2'),
    labels('chat', 'responses', 'checkpoint', '1'),
    labels('text_completion', 'completions', 'small', '1'),
  ].map((line) =>
    [...line.matchAll(/(\w+)="([^"]*)"/g)]
      .map(([, name, value]) => `${name}=${value}`)
      .concat('error_type=')
      .sort()
      .join(),
  );
  expect(counts.every((line) => line.startsWith(head) && line.endsWith(' 1'))).toBe(true);
  expect(sorted.sort()).toEqual(expected.sort());
  expect(await linesOf('uirl_endpoint_prompt_tokens_total')).toContain(
    'uirl_endpoint_prompt_tokens_total{gen_ai_request_model="latest",api_key="2"} 4',
  );
  expect(await linesOf('uirl_endpoint_generation_tokens_total')).toContain(
    'uirl_endpoint_generation_tokens_total{gen_ai_request_model="latest",api_key="2"} 6',
  );
  expect(await register.metrics()).not.toMatch(new RegExp(`${KEY}|${OTHER}`));
});

it('measures the wait of each answer, and the first token of a request once', async () => {
  await clientOf(KEY).chat.completions.create({ model: 'latest', messages, n: 2 });
  const countOf = async (name: string) =>
    Number(
      (await linesOf(name))
        .find((line) => line.includes('_count'))
        ?.split(' ')
        .at(-1),
    );
  expect(await countOf('uirl_endpoint_request_queue_time_seconds')).toBe(2);
  expect(await countOf('gen_ai_server_time_to_first_token_seconds')).toBe(1);
  expect(await countOf('gen_ai_server_time_per_output_token_seconds')).toBe(2);
});

it('says why requests failed, each once, and gives callers no say in what labels there are', async () => {
  const statusOf = (asked: PromiseLike<unknown>) =>
    Promise.resolve(asked).catch((error: unknown) => (error as { status: number }).status);
  const statuses = [
    await statusOf(clientOf(KEY).chat.completions.create({ model: 'broken', messages })),
    await statusOf(clientOf(KEY).chat.completions.create({ model: 'latest', messages, temperature: 9 })),
    await statusOf(clientOf('no-such-key-for-tests').models.list()),
    await statusOf(clientOf(KEY).get('/nothing')),
  ];
  expect(statuses).toEqual([500, 400, 401, 404]);
  const failed = (await linesOf('gen_ai_server_request_duration_seconds')).filter((line) =>
    line.includes('_count'),
  );
  expect(failed).toEqual([
    expect.stringMatching(/gen_ai_request_model="other".*error_type="internal_error".* 1$/),
    expect.stringMatching(/error_type="invalid_value".* 1$/),
  ]);
  expect(await linesOf('uirl_endpoint_refused_total')).toEqual([
    'uirl_endpoint_refused_total{error_type="invalid_api_key"} 1',
    'uirl_endpoint_refused_total{error_type="not_found_error"} 1',
  ]);
  expect(await linesOf('uirl_endpoint_num_requests_running')).toEqual([
    'uirl_endpoint_num_requests_running 0',
  ]);
});

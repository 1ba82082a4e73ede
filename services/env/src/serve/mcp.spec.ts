import {
  Client,
  StreamableHTTPClientTransport,
  type VersionNegotiationOptions,
} from '@modelcontextprotocol/client';
import { LEFT, RIGHT, ServedForm } from '../../test/served-form';

let form: ServedForm;
beforeAll(async () => {
  form = await ServedForm.open();
});
afterAll(() => form.close());

interface Told {
  episode_id: string;
  task_id: string;
  goal: string;
  status: string;
  success: boolean | null;
  reward: number;
}

/** Each with the official client. */
describe.each<[string, VersionNegotiationOptions['mode']]>([
  ['2025-11-25', 'legacy'],
  ['2026-07-28', { pin: '2026-07-28' }],
])('MCP %s', (version, mode) => {
  let client: Client;
  beforeAll(async () => {
    client = new Client({ name: 'spec', version: '1.0.0' }, { versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${form.server.url}/mcp`)));
  });
  afterAll(() => client.close());

  const call = async (name: string, args: Record<string, unknown>) => {
    const { content, structuredContent, isError } = await client.callTool({ name, arguments: args });
    return {
      content: content as { type: string; text?: string; data?: string }[],
      told: structuredContent as Told,
      isError,
    };
  };

  it('negotiates its version and lists a tool per action', async () => {
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['start_episode', 'screenshot', 'click', 'type', 'finish', 'end_episode']),
    );
    expect(tools.find(({ name }) => name === 'click')!.inputSchema.required).toContain('episode_id');
  });

  it('plays an episode to its verdict', async () => {
    const started = await call('start_episode', { task_id: 'first', seed: 3 });
    expect(started.told).toMatchObject({ task_id: 'first', goal: 'Submit once: first', status: 'running' });
    expect(Buffer.from(started.content[0].data!, 'base64').subarray(1, 4).toString()).toBe('PNG');
    const { action: _, ...left } = LEFT;
    const { episode_id } = started.told;
    await call('click', { episode_id, ...left });
    const ended = await call('finish', { episode_id, success: true });
    expect(ended.told).toMatchObject({ episode_id, status: 'completed', success: true, reward: 1 });
    expect(form.sessionCount()).toBe(0);
  });

  it('keeps episodes apart, and ends one on request', async () => {
    const [one, other] = await Promise.all([
      call('start_episode', { seed: 3 }),
      call('start_episode', { seed: 3 }),
    ]);
    const { action: _, ...right } = RIGHT;
    await call('click', { episode_id: one.told.episode_id, ...right });
    const screens = await Promise.all(
      [one, other].map(({ told }) => call('screenshot', { episode_id: told.episode_id })),
    );
    expect(screens[0].content[0].data).not.toBe(screens[1].content[0].data);
    for (const { told } of [one, other]) await call('end_episode', { episode_id: told.episode_id });
    expect(form.sessionCount()).toBe(0);
    expect(await call('screenshot', { episode_id: one.told.episode_id })).toMatchObject({ isError: true });
  });

  it.each<[string, Record<string, unknown>, RegExp]>([
    ['click', { x: 1, y: 1 }, /episode_id: expected the id that start_episode returned/],
    ['click', { episode_id: 'absent', x: 1, y: 1 }, /no such episode/],
    ['start_episode', { task_id: 'third' }, /no task is named "third"; there are first, second/],
    ['start_episode', { seed: -1 }, /seed: found -1/],
  ])('reports to the model what is wrong with %s %j', async (name, args, message) => {
    const { isError, content } = await call(name, args);
    expect(isError).toBe(true);
    expect(content[0].text).toMatch(message);
  });

  it('refuses an unknown tool as a protocol error', async () => {
    await expect(client.callTool({ name: 'launch', arguments: {} })).rejects.toThrow(
      /there is no tool "launch"/,
    );
  });
});

it('refuses sessions, which it does not have', async () => {
  const { status } = await fetch(`${form.server.url}/mcp`, { headers: { accept: 'text/event-stream' } });
  expect(status).toBe(405);
});

it('leaves JSON-RPC of OpenEnv as it is', async () => {
  const { body } = await form.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' });
  expect(JSON.stringify(body)).not.toContain('start_episode');
});

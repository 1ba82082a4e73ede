import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Connection } from './connection';
import { findModel } from './session';

/** Models of a service after it has retired Qwen3-VL. */
const offered = ['Qwen/Qwen3.5-4B', 'Qwen/Qwen3.5-397B-A17B', 'moonshotai/Kimi-K2.5'];

let server: Server;
let models: string[];
let connection: Connection;

beforeAll(async () => {
  server = createServer((request, response) => {
    expect(request.url).toBe('/api/v1/get_server_capabilities');
    const supported_models = models.map((model_name) => ({ model_name, max_context_length: 65_536 }));
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ supported_models }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  connection = new Connection({
    address: `http://127.0.0.1:${port}`,
    key: undefined,
    isTrusted: true,
    timeoutMs: 10_000,
    retryMs: 0,
  });
});
beforeEach(() => (models = offered));
afterAll(() => new Promise((resolve) => server.close(resolve)));

it('takes the model of the run where the service offers it', async () => {
  const found = await findModel(connection, undefined, 'Qwen/Qwen3.5-4B@main');
  expect(found).toMatchObject({ baseModel: 'Qwen/Qwen3.5-4B', maxSequence: 65_536 });
});

it('takes the model that is named for the service before that of the run', async () => {
  const found = await findModel(connection, 'moonshotai/Kimi-K2.5', 'Qwen/Qwen3.5-4B');
  expect(found.baseModel).toBe('moonshotai/Kimi-K2.5');
});

it('takes the only model there is', async () => {
  models = ['small'];
  expect((await findModel(connection, undefined, '/models/own')).baseModel).toBe('small');
});

it('refuses a retired model with what the service offers', async () => {
  await expect(findModel(connection, 'Qwen/Qwen3-VL-30B-A3B-Instruct')).rejects.toThrow(
    /engine tinker: base_model: http:\S+ does not offer Qwen\/Qwen3-VL-30B-A3B-Instruct, or has retired it; it offers Qwen\/Qwen3\.5-4B, Qwen\/Qwen3\.5-397B-A17B, moonshotai\/Kimi-K2\.5\./,
  );
});

it('refuses to guess where the model of the run is not offered', async () => {
  await expect(findModel(connection, undefined, 'Qwen/Qwen3-VL-4B-Instruct')).rejects.toThrow(
    /engine tinker: base_model has to name a model of .* it offers Qwen\/Qwen3\.5-4B, .*, not Qwen\/Qwen3-VL-4B-Instruct$/,
  );
});

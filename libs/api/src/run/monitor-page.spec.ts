import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Logger } from '@nestjs/common';
import { BusService, type Responder } from '@ui-rl/bus';
import { MonitorPageRequest, subjects, type MonitorPageReply } from '@ui-rl/contracts';
import { freePort, startNats, type NatsServer } from '@ui-rl/testkit';
import { findMonitorPage } from './monitor-page';

Logger.overrideLogger(false);

let nats: NatsServer;
let bus: BusService;
const ends: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  nats = await startNats();
  bus = await BusService.connect({ service: 'test', servers: [nats.url] });
});
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});
afterAll(async () => {
  await bus.close();
  await nats.stop();
});

/** A page that reports the monitor to which it belongs. */
async function serve(instance: string): Promise<string> {
  const server: Server = createServer((request, response) => {
    if (request.url === '/api/monitor') response.end(JSON.stringify({ instance }));
    else response.writeHead(404).end('<html>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => new Promise((resolve) => server.close(resolve)));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function announce(addresses: string[], localOnly = false): void {
  const responder: Responder = bus.respond<MonitorPageRequest>({
    subject: subjects.monitorPage(),
    schema: MonitorPageRequest,
    handle: async ({ runId }): Promise<MonitorPageReply> => ({
      ...{ instance: 'mine', host: 'lab', localOnly, addresses },
      path: `/#/runs/${runId}`,
    }),
  });
  ends.push(() => responder.stop());
}

it('is at the first address where that very monitor answers', async () => {
  const [gone, others, right, too] = [
    `http://127.0.0.1:${await freePort()}`,
    await serve('another'),
    await serve('mine'),
    await serve('mine'),
  ];
  announce([gone, others, right, too]);
  expect(await findMonitorPage(bus, 'run-1')).toBe(`${right}/#/runs/run-1`);
});

it('says what to do where it is not reached from here', async () => {
  const other = await serve('another');
  announce([other], true);
  expect(await findMonitorPage(bus, 'run-1')).toMatch(
    /^http:\S+\/#\/runs\/run-1 listens on lab only: .*MONITOR_HOST=0\.0\.0\.0/,
  );
  for (const end of ends.splice(1)) await end();
  announce([other]);
  expect(await findMonitorPage(bus, 'run-1')).toMatch(/is not reached from here: MONITOR_URL tells .* lab/);
});

it('says that there is none', async () => {
  expect(await findMonitorPage(bus, 'run-1')).toMatch(
    /^none answers at this broker \(no answer to uirl\.monitor\.page/,
  );
});

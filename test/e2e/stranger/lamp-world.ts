import { createServer, type IncomingMessage, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import sharp from 'sharp';

const WIDTH = 160;
const HEIGHT = 224;
const LAMPS = 4;

interface World {
  lit: boolean[];
  /** Performed actions, in order. */
  actions: string[];
}

/** A server whose worlds are columns of lamps: a click toggles the lamp under it. Some are on at the start. */
export class LampServer {
  private readonly worlds = new Map<string, World>();
  /** Every world created so far. */
  readonly all: World[] = [];

  private constructor(private readonly server: Server) {}

  static async start(): Promise<LampServer> {
    const server = createServer((request, response) => {
      lamps
        .answer(request)
        .then((value) => response.end(JSON.stringify(value)))
        .catch((error: unknown) => response.writeHead(500).end(String(error)));
    });
    const lamps = new LampServer(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return lamps;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async answer(request: IncomingMessage): Promise<unknown> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
    if (request.url === '/open') return this.open(body.seed as number);
    const world = this.worlds.get(body.id as string);
    if (world === undefined) throw new Error(`there is no world ${String(body.id)}`);
    if (request.url === '/step') return this.step(world, body.action as { action: string; y?: number });
    this.worlds.delete(body.id as string);
    return { state: stateOf(world) };
  }

  private async open(seed: number): Promise<unknown> {
    const id = String(this.all.length);
    const world: World = {
      lit: Array.from({ length: LAMPS }, (_, lamp) => lamp === seed % LAMPS),
      actions: [],
    };
    this.worlds.set(id, world);
    this.all.push(world);
    return { id, screen: await screenOf(world), state: stateOf(world) };
  }

  private async step(world: World, { action, y }: { action: string; y?: number }): Promise<unknown> {
    world.actions.push(action);
    if (action === 'click' && y !== undefined) {
      const lamp = Math.floor((y * LAMPS) / HEIGHT);
      world.lit[lamp] = !world.lit[lamp];
    }
    return { screen: await screenOf(world), outcome: 'ok' };
  }
}

function stateOf({ lit }: World): Record<string, unknown> {
  return { lit: lit.filter(Boolean).length, lamps: [...lit] };
}

async function screenOf({ lit }: World): Promise<{ png: string; width: number; height: number }> {
  const rows = Array.from({ length: HEIGHT }, (_, y) =>
    Buffer.alloc(WIDTH * 3, lit[Math.floor((y * LAMPS) / HEIGHT)] ? 255 : 40),
  );
  const png = await sharp(Buffer.concat(rows), { raw: { width: WIDTH, height: HEIGHT, channels: 3 } })
    .png()
    .toBuffer();
  return { png: png.toString('base64'), width: WIDTH, height: HEIGHT };
}

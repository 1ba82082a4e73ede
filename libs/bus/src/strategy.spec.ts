import 'reflect-metadata';
import { Controller, Injectable, Logger, Module, type INestMicroservice, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { MessagePattern } from '@nestjs/microservices';
import { STREAMS, subjects, Task } from '@ui-rl/contracts';
import { eventually, makeTask, startNats, type NatsServer } from '@ui-rl/testkit';
import {
  BusModule,
  BusService,
  BusStrategy,
  failure,
  JetStreamHandler,
  RequestHandler,
  type DeadLetter,
  type JetStreamContext,
  type RequestContext,
} from './index';

Logger.overrideLogger(false);

const handled: string[] = [];
const TASKS = {
  stream: STREAMS.tasks,
  durable: 'loader-{run}',
  subject: subjects.task('{run}'),
  schema: Task,
};

@Injectable()
class Notes {
  constructor(private readonly bus: BusService) {}

  take(text: string): void {
    handled.push(`${this.bus.service} ${text}`);
  }
}

@Controller()
class LoaderController {
  constructor(private readonly notes: Notes) {}

  @JetStreamHandler({ ...TASKS, retry: { firstMs: 10, maxMs: 10, attempts: 2 } })
  async onTask(task: Task, context: JetStreamContext): Promise<void> {
    if (task.description === 'bad') throw new Error(`cannot do ${context.subject}`);
    this.notes.take(task.description);
  }

  @RequestHandler('uirl.at.{instance}.echo', { schema: Task })
  async echo(task: Task, context: RequestContext): Promise<unknown> {
    if (task.description === 'refused') return failure('capacity', 'full');
    if (task.description === 'broken') throw new Error('the original message');
    return { echo: task.description, subject: context.subject };
  }
}

@Controller()
class TwiceController {
  @RequestHandler('uirl.twice', { schema: Task })
  async first(): Promise<void> {}

  @RequestHandler('uirl.twice', { schema: Task })
  async second(): Promise<void> {}
}

@Controller()
class ForeignController {
  @MessagePattern('elsewhere')
  async foreign(): Promise<void> {}
}

describe('the Nest transport', () => {
  let nats: NatsServer;
  let bus: BusService;

  beforeAll(async () => {
    nats = await startNats();
    bus = await BusService.connect({ service: 'test', servers: [nats.url] });
  });

  afterAll(async () => {
    await bus.close();
    await nats.stop();
  });

  async function start(controllers: Type[], params: Record<string, string>): Promise<INestMicroservice> {
    @Module({ imports: [BusModule.forRoot(bus)], controllers, providers: [Notes] })
    class Root {}
    const app = await NestFactory.createMicroservice(Root, { strategy: new BusStrategy(bus, params) });
    await app.listen();
    return app;
  }

  it('runs decorated handlers with injected providers and keeps original errors', async () => {
    const app = await start([LoaderController], { run: 'r1' });
    await bus.publishJson(subjects.task('r1'), makeTask({ description: 'bad' }), 'bad');
    await bus.publishJson(subjects.task('r1'), makeTask({ description: 'good' }), 'good');
    await eventually('the good task', () => handled.length === 1);
    expect(handled).toEqual(['test good']);
    const key = await eventually('the bad task', async () => (await bus.deadLetterBucket.keys())[0]);
    expect((await bus.deadLetterBucket.get<DeadLetter>(key))?.value.reason).toBe(
      'failed 2 times, at last: cannot do uirl.task.r1',
    );
    const request = (description: string) =>
      bus.request(`uirl.at.${bus.instance}.echo`, { description }, 1_000);
    const subject = `uirl.at.${bus.instance}.echo`;
    expect(await request('hello')).toEqual({ ok: true, value: { echo: 'hello', subject } });
    expect(await request('refused')).toEqual(failure('capacity', 'full'));
    expect(await request('broken')).toEqual(failure('internal', 'the original message'));
    await app.close();
    expect(await request('hello')).toMatchObject({ ok: false, error: { code: 'no_responders' } });
  });

  it.each<[string, Type[], RegExp]>([
    ['two handlers for one subject', [TwiceController], /two handlers for uirl.twice/],
    [
      'a handler of another transport',
      [ForeignController],
      /the handler for elsewhere is none of this transport/,
    ],
    ['a placeholder without value', [LoaderController], /needs a value for {run}/],
    ['no handler at all', [], /there is none/],
  ])('refuses to start with %s', async (_, controllers, message) => {
    await expect(start(controllers, {})).rejects.toThrow(message);
  });

  it('refuses a second filter over a work queue, and says which', async () => {
    const handle = async () => undefined;
    const first = await bus.consume({
      stream: STREAMS.tasks,
      durable: 'all',
      subject: subjects.task('r9'),
      handle,
    });
    await expect(
      bus.consume({ stream: STREAMS.tasks, durable: 'more', subject: subjects.task('*'), handle }),
    ).rejects.toThrow(/cannot read stream TASKS as "more" with filter uirl.task.\*/);
    await first.stop();
  });
});

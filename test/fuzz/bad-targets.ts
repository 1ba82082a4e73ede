import type { Target } from './target';

const text = (input: Uint8Array): string => Buffer.from(input).toString('utf8');

/** Parsers with every kind of fault, to test that each is detected. */
export const targets: readonly Target[] = [
  { name: 'good', input: (mutator) => mutator.bytes([Buffer.from('{}')]), feed: () => true },
  {
    name: 'throws',
    input: (mutator) => mutator.bytes([Buffer.from('{"a":1}')]),
    feed: (input) => JSON.parse(text(input)) !== undefined,
  },
  {
    name: 'throws later',
    input: () => Buffer.from('{"a":'),
    feed: async (input) => {
      setImmediate(() => JSON.parse(text(input)) as unknown);
      return new Promise<boolean>(() => {});
    },
  },
  {
    name: 'hangs',
    input: (mutator) => mutator.bytes([Buffer.from('abc')]),
    feed: (input) => {
      while (input.length === 0);
      return true;
    },
  },
  {
    name: 'takes long',
    mostMs: 200,
    input: (mutator) => mutator.bytes([Buffer.from('abc')]),
    feed: (input) => {
      const before = process.cpuUsage();
      const used = (): number => {
        const { user, system } = process.cpuUsage(before);
        return user + system;
      };
      while (input.length === 0 && used() < 400_000);
      return true;
    },
  },
  {
    name: 'crashes',
    input: (mutator) => mutator.bytes([Buffer.from('abc')]),
    feed: (input) => {
      if (input.length > 1_000) process.kill(process.pid, 'SIGSEGV');
      return true;
    },
  },
  {
    name: 'keeps',
    input: () => Buffer.alloc(300_000),
    feed: (input) => kept.push(Buffer.from(input)) > 0,
  },
];

const kept: Buffer[] = [];

import { Routing, Server } from './servers';

function makeServers(count: number): Server[] {
  return Array.from({ length: count }, (_, index) => {
    const server = new Server({ address: `http://host-${index}:8000`, apiKey: undefined, timeoutMs: 1000 });
    server.proven.add('adapter');
    return server;
  });
}

const none: ReadonlySet<Server> = new Set();

it('asks the least busy server that has the adapter', () => {
  const [one, two, three] = makeServers(3);
  const routing = new Routing([one, two, three]);
  one.inFlight = 2;
  two.inFlight = 1;
  three.proven.clear();
  expect(routing.pick('adapter', undefined, none)).toBe(two);
  expect(routing.pick('other', undefined, none)).toBeUndefined();
});

it('an episode stays where it began, unless that server fails or is away', () => {
  const [one, two] = makeServers(2);
  const routing = new Routing([one, two]);
  expect(routing.pick('adapter', 'episode', none)).toBe(one);
  one.inFlight = 5;
  expect(routing.pick('adapter', 'episode', none)).toBe(one);
  expect(routing.pick('adapter', 'episode', new Set([one]))).toBe(two);
  expect(routing.pick('adapter', 'episode', none)).toBe(two);
  two.lose();
  expect(routing.pick('adapter', 'episode', none)).toBe(one);
  expect(routing.pick('adapter', 'episode', new Set([one]))).toBe(one);
});

import { examples, lines } from './examples';
import { RULES, ruleOf, type Run } from './rules';
import { Sandbox } from './sandbox';
import type { Typed } from './terminal';

interface Command {
  page: string;
  line: string;
  /** Earlier lines of its page that change the environment: a page is typed into one terminal. */
  before: readonly string[];
}

const commands = readCommands();
const isExport = ({ line }: Command) => line.startsWith('export ');
const runs = commands.filter((command) => !isExport(command) && runOf(command) !== undefined);

function readCommands(): Command[] {
  const exports = new Map<string, string[]>();
  return examples('sh').flatMap((example) =>
    lines(example).map((line) => {
      const before = exports.get(example.page) ?? [];
      if (line.startsWith('export ')) exports.set(example.page, [...before, line]);
      return { page: example.page, line, before };
    }),
  );
}

function runOf({ line }: Command): Run | undefined {
  const rule = ruleOf(line);
  return rule === undefined || 'notRun' in rule ? undefined : rule;
}

/** A condition that commands wait for. */
class Gate {
  open!: () => void;
  readonly opened = new Promise<void>((resolve) => (this.open = resolve));
}

/** A semaphore. */
class Slots {
  private readonly waiting: (() => void)[] = [];

  constructor(private free: number) {}

  async hold<T>(work: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free -= 1;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next === undefined) this.free += 1;
      else next();
    }
  }
}

/**
 * Types the commands of every page in order; pages run concurrently, with as many commands at a time as there are
 * cores. A command that occurs on several pages is typed once if the environment is the same.
 */
class Reader {
  readonly typed = new Map<Command, Typed>();
  private readonly known = new Map<string, Promise<Typed>>();
  private readonly gates = { 'an open run': new Gate(), 'a trained run': new Gate() };
  private readonly slots = new Slots(2);
  private trained: Promise<void> | undefined;

  constructor(private readonly sandbox: Sandbox) {}

  async readAll(): Promise<void> {
    const pages = [...new Set(runs.map(({ page }) => page))];
    await Promise.all(pages.map((page) => this.read(runs.filter((command) => command.page === page))));
    await this.trained;
  }

  private async read(page: readonly Command[]): Promise<void> {
    for (const command of page) {
      const script = [...command.before, command.line].join('\n');
      const typed = this.known.get(script) ?? this.type(command);
      this.known.set(script, typed);
      this.typed.set(command, await typed);
    }
  }

  private async type(command: Command): Promise<Typed> {
    const rule = runOf(command)!;
    if (rule.needs !== undefined) await this.gates[rule.needs].opened;
    const type = () => this.sandbox.type(command.line, command.before, rule);
    // A run must not wait for commands that need an open run.
    const typed = await (rule.needs === 'an open run' ? type() : this.slots.hold(type));
    if (rule.goesOnAfter !== undefined) {
      this.gates['an open run'].open();
      this.trained = typed.settles().finally(() => this.gates['a trained run'].open());
    }
    return typed;
  }
}

it.each(commands.filter((command) => !isExport(command)).map(({ page, line }) => [page, line]))(
  '%s: what is done with "%s" is known',
  (_, line) => expect(ruleOf(line)).toBeDefined(),
);

it.each(RULES)('$matches is about a command that is there', (rule) => {
  expect(commands.filter(({ line }) => ruleOf(line) === rule)).not.toEqual([]);
});

describe('typed as it stands', () => {
  let sandbox: Sandbox;
  let reader: Reader;

  beforeAll(async () => {
    sandbox = await Sandbox.start();
    reader = new Reader(sandbox);
    await reader.readAll();
  }, 600_000);

  afterAll(() => sandbox.stop(), 60_000);

  it.each(runs.map((command) => [command.page, command.line, command] as const))(
    '%s: %s',
    (_page, line, command) => {
      const { staysAfter, prints = /^/ } = runOf(command)!;
      const { status, output } = reader.typed.get(command)!;
      const expected = staysAfter === undefined ? 0 : undefined;
      // In one comparison, so that a failure shows the output.
      expect(`${status}\n${output}`).toMatch(new RegExp(`^${expected}\n`));
      for (const [, file] of line.matchAll(/ \.\/([\w-]+\.js)\b/g)) expect(output).toContain(`/${file}`);
      for (const pattern of [prints, staysAfter ?? prints]) expect(output).toMatch(pattern);
    },
  );

  it('ends on Ctrl-C, where it stays', async () => {
    const staying = runs.filter((command) => runOf(command)?.staysAfter !== undefined);
    expect(staying.length).toBeGreaterThan(0);
    for (const command of staying) {
      const typed = reader.typed.get(command)!;
      await typed.interrupt();
      expect({ line: command.line, killed: typed.killed }).toEqual({ line: command.line, killed: false });
    }
  }, 60_000);
});

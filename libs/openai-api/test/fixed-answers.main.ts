import { parseArgs } from 'node:util';
import type { PolicyRequest, ServedPolicy } from '../src/policy';
import { openFor, Speaker } from './speaker';

const HELP = `node libs/testkit/run-ts.cjs libs/openai-api/test/fixed-answers.main.ts [--port N]

OpenAI's API on this machine, answered by no model but always in the same way: a function that a request shows is called, until its output
comes; all else gets a text. For suites that test the API itself. Ctrl-C ends it.

  --port N   default 8199; 0 takes a free one
`;

/** The answer to a request: a call of its first function, until a call has returned. */
function answerTo({ prompt }: PolicyRequest): string {
  if (prompt.kind !== 'conversation') return 'Hello to you.';
  const { tools, messages } = prompt.conversation;
  const [tool] = tools as { function: { name: string; parameters: { required?: string[] } } }[];
  if (tool === undefined || messages.at(-1)?.role === 'tool') return 'Hello to you.';
  const { name, parameters } = tool.function;
  const given = Object.fromEntries((parameters.required ?? []).map((field) => [field, 'Bern']));
  return `<tool_call>\n${JSON.stringify({ name, arguments: given })}\n</tool_call>`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { port: { type: 'string', default: '8199' }, help: { type: 'boolean', default: false } },
  });
  if (values.help) return console.log(HELP);
  const known = new Speaker();
  const policy: ServedPolicy = {
    computer: known.computer,
    models: () => known.models(),
    countTokens: () => known.countTokens(),
    answer: (request, listener) => {
      const speaker = new Speaker();
      speaker.says = answerTo(request);
      return speaker.answer(request, listener);
    },
  };
  const limits = { maxRequests: 64, maxBodyBytes: 2 ** 25 };
  const { url } = await openFor(policy, { ...limits, port: Number(values.port), keys: [] });
  console.log(`fixed answers at ${url}/v1`);
}

void main();

import {
  ACTION_NAMES,
  actionMeaning,
  actionParameters,
  isRecord,
  type ActionName,
  type JsonSchema,
} from '@ui-rl/plugin-kit';
import type { ServedEpisode } from './episode';
import { observe } from './observation';
import { ServeError } from './serve-error';

export interface Tool {
  name: string;
  description: string;
  inputSchema: JsonSchema;
}

/** One tool per action, and one that only returns the screen. */
export const TOOLS: readonly Tool[] = [
  {
    name: 'screenshot',
    description: 'the screen as it is, and what is to be done',
    inputSchema: { type: 'object', properties: {}, required: [], additionalProperties: false },
  },
  ...ACTION_NAMES.map((name) => ({
    name,
    description: actionMeaning(name),
    inputSchema: actionParameters(name),
  })),
];

/** The result of a tool, in the form of MCP's `tools/call`. */
export interface ToolResult {
  content: object[];
  structuredContent: Record<string, unknown>;
  isError: boolean;
}

/** @throws ServeError */
export async function callTool(
  episode: ServedEpisode,
  name: unknown,
  given: unknown = {},
): Promise<ToolResult> {
  if (typeof name !== 'string') throw new ServeError('bad_request', "missing 'name'", 'name');
  if (!TOOLS.some((tool) => tool.name === name)) {
    throw new ServeError('bad_request', `there is no tool "${name.slice(0, 100)}"`, 'name');
  }
  if (!isRecord(given)) throw new ServeError('bad_request', 'expected an object', 'arguments');
  if (name !== 'screenshot') await episode.act({ ...given, action: name as ActionName });
  else if (Object.keys(given).length > 0) throw new ServeError('bad_request', 'there are none', 'arguments');
  else await episode.look(0);
  return resultOf(episode);
}

function resultOf(episode: ServedEpisode): ToolResult {
  const { observation, reward, done } = observe(episode);
  const { screenshot, ...told } = observation;
  const structuredContent = { ...told, reward, done };
  return {
    content: [
      { type: 'image', data: screenshot, mimeType: 'image/png' },
      { type: 'text', text: JSON.stringify(structuredContent) },
    ],
    structuredContent,
    isError: false,
  };
}

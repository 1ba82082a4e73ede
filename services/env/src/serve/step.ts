import type { ServedEpisode } from './episode';
import { observe } from './observation';
import { ServeError } from './serve-error';
import { callTool, TOOLS } from './tools';

type Data = Readonly<Record<string, unknown>>;

/** The response to a step. */
export interface Stepped {
  observation: Record<string, unknown>;
  reward: number;
  done: boolean;
}

/**
 * Executes OpenEnv's step: an action, or, from its tool clients, `{type: "call_tool", tool_name, arguments}` and
 * `{type: "list_tools"}`, which needs no episode.
 *
 * @throws ServeError
 */
export async function playStep(running: () => ServedEpisode, data: Data): Promise<Stepped> {
  const { metadata: _metadata, ...action } = data;
  if (action.type === 'list_tools') return listTools();
  const episode = running();
  if (action.type === 'call_tool') return call(episode, action);
  await episode.act(action);
  return observe(episode);
}

function listTools(): Stepped {
  const tools = TOOLS.map(({ inputSchema, ...told }) => ({ ...told, input_schema: inputSchema }));
  return { observation: { tools }, reward: 0, done: false };
}

/** Errors of a call are part of the observation. */
async function call(episode: ServedEpisode, { tool_name: name, arguments: given }: Data): Promise<Stepped> {
  try {
    const { structuredContent: result } = await callTool(episode, name, given);
    const { observation, reward, done } = observe(episode);
    return { observation: { ...observation, tool_name: name, result, error: null }, reward, done };
  } catch (error) {
    if (!(error instanceof ServeError) || error.code !== 'bad_request') throw error;
    const isKnown = TOOLS.some((tool) => tool.name === name);
    const told = { error_type: isKnown ? 'invalid_args' : 'tool_not_found', message: error.message };
    const toolName = typeof name === 'string' ? name : null;
    return { observation: { tool_name: toolName, result: null, error: told }, reward: 0, done: false };
  }
}

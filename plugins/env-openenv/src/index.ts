import type { EnvironmentComponent } from '@ui-rl/plugin-kit';
import { openEnvironments, VARIABLES } from './environment';
import { MCP_VARIABLES, mcpEnvironments } from './mcp-server';
import { McpOptions, OpenEnvOptions } from './options';

/** Environments of OpenEnv servers. See `README.md` beside `src`. */
export const openEnv: EnvironmentComponent<OpenEnvOptions> = {
  kind: 'environment',
  name: 'openenv',
  description: 'Environments of OpenEnv servers, over WebSocket, HTTP or MCP.',
  environment: {
    [VARIABLES.servers]:
      'addresses of OpenEnv servers, separated by commas; if it is set, run files may use no others, and may omit them',
    [VARIABLES.keys]:
      'keys of such servers, http://host:port=key, several separated by commas; each is sent to its own server only',
  },
  options: OpenEnvOptions,
  opensByItself: true,
  conflicts: ({ actions, templates, transport, first_call: firstCall }) => [
    ...(actions === 'templates' && templates === undefined
      ? ['environment openenv: actions: templates needs templates']
      : []),
    ...(templates !== undefined && actions !== 'templates' && actions !== 'auto'
      ? [`environment openenv: templates go with actions: templates, not ${actions}`]
      : []),
    ...(firstCall !== undefined && transport !== 'mcp'
      ? ['environment openenv: first_call needs transport: mcp']
      : []),
    ...(transport === 'mcp' && actions === 'browsergym'
      ? ['environment openenv: transport: mcp calls tools, so that actions: browsergym has no meaning there']
      : []),
  ],
  create: (options, context) => Promise.resolve(openEnvironments(options, context)),
};

/** Servers of the Model Context Protocol. */
export const mcp: EnvironmentComponent<McpOptions> = {
  kind: 'environment',
  name: 'mcp',
  description: 'Servers of the Model Context Protocol whose tools operate a screen.',
  environment: {
    [MCP_VARIABLES.servers]:
      'addresses of MCP servers, separated by commas; if it is set, run files may use no others, and may omit them',
    [MCP_VARIABLES.keys]:
      'keys of such servers, http://host:port=key, several separated by commas; each is sent to its own server only',
  },
  options: McpOptions,
  opensByItself: true,
  create: (options, context) => Promise.resolve(mcpEnvironments(options, context)),
};

export const components = [openEnv, mcp];

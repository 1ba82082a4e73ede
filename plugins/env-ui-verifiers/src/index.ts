import type { EnvironmentComponent } from '@ui-rl/plugin-kit';
import { UiVerifiersEnvironment, VARIABLES } from './environment';
import { UiVerifiersOptions } from './options';

/** Sessions of ui-verifiers servers over HTTP. `README.md` beside `src` documents the requests. */
const uiVerifiers: EnvironmentComponent<UiVerifiersOptions> = {
  kind: 'environment',
  name: 'ui-verifiers',
  description: 'Sessions of ui-verifiers servers, over HTTP.',
  environment: {
    [VARIABLES.servers]:
      'addresses of ui-verifiers servers, separated by commas: where it is set, run files may name no others, and may leave them out',
    [VARIABLES.keys]:
      'keys of such servers, http://host:port=key, several separated by commas; each is sent to its own server only',
  },
  options: UiVerifiersOptions,
  // A session counts submissions.
  defaultRewards: ['progress'],
  opensByItself: true,
  conflicts: ({ sessions, sessions_per_server: places }) =>
    places > 1 && sessions !== 'many'
      ? ['environment ui-verifiers: sessions_per_server beyond 1 needs sessions: many']
      : [],
  create: (options, context) => Promise.resolve(new UiVerifiersEnvironment(options, context)),
};

export default uiVerifiers;

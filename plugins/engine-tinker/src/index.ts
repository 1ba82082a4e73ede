import type { EngineComponent } from '@ui-rl/plugin-kit';
import { conflictsOf, ENVIRONMENT, TinkerOptions } from './options';
import { TinkerEngine } from './tinker-engine';

const tinker: EngineComponent<TinkerOptions> = {
  kind: 'engine',
  name: 'tinker',
  description: "Samples and trains with a service of Tinker's API, on its hardware.",
  options: TinkerOptions,
  environment: ENVIRONMENT,
  remote: true,
  conflicts: conflictsOf,
  create: (options, context) => TinkerEngine.start(options, context),
};

export const components = [tinker];

export { HubError, type HubErrorKind } from './errors';
export { hubModelOf, parseHubName, type HubModel } from './name';
export type { HubOptions } from './options';
export { resolveModel, type ResolvedModel } from './resolve';

export { HubError, isHubAway, type HubErrorKind } from './errors';
export { hubModelOf, parseHubName, pinnedName, type HubModel } from './name';
export type { HubOptions } from './options';
export { resolveModel, type ResolvedModel, type ResolveOptions } from './resolve';

export { ApiError, assertCaller, invalid, toApiError, unsupported } from './errors';
export { Fields } from './fields';
export { checkAccess, isLoopback, type Access } from './http/access';
export { BodyBudget } from './http/body-budget';
export { PolicyDirectory } from './http/directory';
export { ENDPOINT_METRICS, type EndpointMetric } from './http/measures';
export { refuseUpgrade } from './http/sockets';
export { answerPings, sendText } from './http/unread';
export { openEndpoint, type Endpoint, type EndpointOptions, type EndpointSettings } from './http/server';
export { readImage, sizeOf } from './images';
export type {
  AnswerHead,
  AnswerListener,
  AnswerToken,
  ComputerUse,
  Conversation,
  PolicyAnswer,
  PolicyPrompt,
  PolicyRequest,
  ServedModel,
  ServedPolicy,
} from './policy';
export { untilStop } from './sampling';

export { openTinkerServer, type TinkerServer, type TinkerServerOptions } from './http/server';
export { USUAL_LIMITS, type ServedModel, type ServingLimits } from './served-model';
export { RequestImages } from './serving/images';

export { components } from './components';
export { SamplingError, type SamplingErrorCategory } from './errors';
export { ExternalSamplerOptions } from './options';
export { baseScores } from './scores';
export { readRequest, readResult, writeRequest, writeResult } from './wire';

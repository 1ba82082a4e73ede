export { mix32, uniformAt } from './counter';
export { Random } from './random';
export { normalGenerator, normals, seedFor, uniformGenerator } from './sequence';

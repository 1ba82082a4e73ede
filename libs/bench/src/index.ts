export { EXTRA_PARTS, PARTS, type BenchOptions, type PartName, type PartResult } from './parts';
export { runAllParts, runPart, type BenchReport } from './run';

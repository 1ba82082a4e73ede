/** @returns the paths of specs that `npm test` runs */
declare function quickSpecs(paths: readonly string[]): { filtered: string[] };
export = quickSpecs;

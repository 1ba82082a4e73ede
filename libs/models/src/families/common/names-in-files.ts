/** All names that files may use for a module or weight, its own first; `checkpointName` as in `Family`. */
export function namesInFiles(name: string, checkpointName: (name: string) => string): string[] {
  const names = [name];
  for (let next = checkpointName(name); next !== names.at(-1); next = checkpointName(next)) names.push(next);
  return names;
}

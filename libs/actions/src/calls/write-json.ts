/** JSON with Python's spaces, on which models of the Qwen family were trained. */
export function spacedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spacedJson).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).filter(([, each]) => each !== undefined);
  return `{${members.map(([key, each]) => `${JSON.stringify(key)}: ${spacedJson(each)}`).join(', ')}}`;
}

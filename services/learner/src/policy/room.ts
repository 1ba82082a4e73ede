/** Why no answer has room behind a prompt of so many tokens; undefined where one has. @param most of prompt and answer together */
export function lackOfRoom(tokens: number, most: number): string | undefined {
  if (tokens < most) return undefined;
  return `the prompt has ${tokens} tokens, which leaves no room for an answer in a sequence of ${most} (model.max_sequence): send fewer turns or smaller images`;
}

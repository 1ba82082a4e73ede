import { readJson, type JsonNode } from '../json-reader';

/**
 * Arguments written as text with a JSON object in it, as in OpenAI's API: that object, whose parts have the position
 * of the text. Empty text and `null` are an empty object; any other value is returned unchanged.
 */
export function withoutQuotes(node: JsonNode | undefined): JsonNode | undefined {
  if (node?.type !== 'string') return node;
  if (['', 'null'].includes(node.value.trim())) return { ...placeOf(node), type: 'object', entries: [] };
  const read = readJson(node.value, 0);
  const isObject = read.ok && read.node.type === 'object';
  return isObject && node.value.slice(read.node.end).trim() === '' ? placed(read.node, node) : node;
}

function placeOf({ start, end }: JsonNode): { start: number; end: number } {
  return { start, end };
}

function placed(node: JsonNode, outer: JsonNode): JsonNode {
  const place = placeOf(outer);
  switch (node.type) {
    case 'object':
      return {
        ...node,
        ...place,
        entries: node.entries.map((entry) => ({ ...entry, ...place, node: placed(entry.node, outer) })),
      };
    case 'array':
      return { ...node, ...place, items: node.items.map((item) => placed(item, outer)) };
    default:
      return { ...node, ...place };
  }
}

import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { ChatMessage, ContentPart } from '@ui-rl/models';
import type { Conversation } from './conversation';

const ROLES: readonly string[] = ['system', 'user', 'assistant', 'tool'] satisfies ChatMessage['role'][];

/**
 * Reads `{"messages":[{"role","content"}]}`: content is a text or a list of `{"type":"text","text"}` and
 * `{"type":"image","path"}`. Paths are relative to the file's folder.
 *
 * @throws an error that names the place in the file
 */
export async function readConversation(file: string): Promise<Conversation> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new Error(`${file}: cannot be read`, { cause });
  });
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new Error(`${file}: is not JSON`, { cause });
  }
  const messages = fieldOf(json, 'messages');
  if (!Array.isArray(messages) || messages.length === 0) {
    throw new Error(`${file}: expected {"messages": [...]} with at least one message`);
  }
  const images: Buffer[] = [];
  const parsed: ChatMessage[] = [];
  for (const [index, message] of messages.entries()) {
    parsed.push(await readMessage(message, `${file}: messages[${index}]`, dirname(file), images));
  }
  return { messages: parsed, images, source: file };
}

async function readMessage(
  message: unknown,
  place: string,
  folder: string,
  images: Buffer[],
): Promise<ChatMessage> {
  const [role, content] = [fieldOf(message, 'role'), fieldOf(message, 'content')];
  if (typeof role !== 'string' || !ROLES.includes(role)) {
    throw new Error(`${place}.role: expected one of ${ROLES.join(', ')}, found ${show(role)}`);
  }
  if (typeof content === 'string') return { role: role as ChatMessage['role'], content };
  if (!Array.isArray(content)) {
    throw new Error(`${place}.content: expected a text or a list of parts, found ${show(content)}`);
  }
  const parts: ContentPart[] = [];
  for (const [index, part] of content.entries()) {
    parts.push(await readPart(part, `${place}.content[${index}]`, folder, images));
  }
  return { role: role as ChatMessage['role'], content: parts };
}

async function readPart(
  part: unknown,
  place: string,
  folder: string,
  images: Buffer[],
): Promise<ContentPart> {
  const type = fieldOf(part, 'type');
  if (type === 'text') {
    const text = fieldOf(part, 'text');
    if (typeof text !== 'string') throw new Error(`${place}.text: expected a text, found ${show(text)}`);
    return { type, text };
  }
  if (type !== 'image') throw new Error(`${place}.type: expected "text" or "image", found ${show(type)}`);
  const path = fieldOf(part, 'path');
  if (typeof path !== 'string') {
    throw new Error(`${place}.path: expected the path of an image file, found ${show(path)}`);
  }
  const found = resolve(folder, path);
  const image = await readFile(found).catch((cause: unknown) => {
    throw new Error(`${place}.path: ${found} cannot be read`, { cause });
  });
  images.push(image);
  return { type };
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}

function show(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value);
}

import * as contracts from '@ui-rl/contracts';
import { describeOptions, type OptionsClass } from '@ui-rl/plugin-kit';
import ts from 'typescript';
import { code, page, table, type Page } from './markdown';
import { docOf, fieldsOf, nodes, parsed, sourcesIn, type Field } from './sources';

/** Messages with their fields; subjects, streams, buckets and their consumers. */
export function messagesPage(): Page {
  // Permissions of users are not messages.
  const sources = sourcesIn('libs/contracts/src').filter((file) => !file.endsWith('access.ts'));
  const files = sources.map(parsed);
  const declared = files.flatMap((file) => nodes(file, isType));
  return page('messages.md', 'Messages and streams', '`libs/contracts`, `libs/bus` and the services', [
    'Messages in streams are JSON; requests and replies are MessagePack. `<run>` is a run id. A message larger than the limit of the broker (`max_payload`) is stored as a blob of its run; a short message names the blob (`{"blob": …, "sizeBytes": …}`, header `Uirl-Blob`). A larger request or reply travels as a parcel (header `Uirl-Parcel`).',
    '## Streams and buckets',
    STORAGE,
    table(['stream', 'subjects', 'kind', ...OWNED], contracts.STREAM_STORAGE.map(streamRow)),
    table(['bucket', 'kind', ...OWNED], Object.values(contracts.BUCKET_STORAGE).map(bucketRow)),
    '## Consumers',
    'Durable consumers of the streams; processes that share one share its work. Attempts and pauses: [retries](retries.md).',
    table(['service', 'stream', 'durable', 'subject'], consumers()),
    '## Subjects',
    table(['subject', 'name in code', 'meaning'], constantsOf('subjects')),
    '## Keys of the bucket `runs`',
    table(['key', 'name in code', 'meaning'], constantsOf('runKeys')),
    '## Messages',
    ...declared.map(describe),
  ]);
}

type Declared = ts.ClassDeclaration | ts.InterfaceDeclaration;

function isType(node: ts.Node): node is Declared {
  return ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node);
}

function describe(node: Declared): string {
  const name = node.name!.text;
  const type = (contracts as Record<string, unknown>)[name];
  const checks = typeof type === 'function' ? expectations(type as OptionsClass) : new Map<string, string>();
  const rows = fieldsOf(node).map((field) => row(field, checks.get(field.name)));
  return [`### ${name}`, docOf(node), inherited(node), table(['field', 'type', 'check', 'meaning'], rows)]
    .filter((part) => part !== '')
    .join('\n\n');
}

function inherited({ heritageClauses }: Declared): string {
  const bases = [...(heritageClauses ?? [])]
    .filter(({ token }) => token === ts.SyntaxKind.ExtendsKeyword)
    .flatMap(({ types }) => types.map(({ expression }) => expression.getText()))
    .filter((base) => base in contracts);
  return bases.map((base) => `Also has the fields of [${code(base)}](#${base.toLowerCase()}).`).join('\n\n');
}

function row({ name, type, optional, doc }: Field, check = ''): string[] {
  return [code(`${name}${optional ? '?' : ''}`), code(type), check, doc];
}

/** The valid values of each field as text, from its validators. */
export function expectations(type: OptionsClass): Map<string, string> {
  const plain = (expected: string): string => (/nested|defined|any value/.test(expected) ? '' : expected);
  return new Map(describeOptions(type).map(({ name, expected }) => [name, plain(expected)]));
}

const STORAGE =
  'The broker keeps all messages that an open run or its monitor still needs, however long services pause. You may change sizes ' +
  '(`nats stream edit TRAJECTORIES --max-bytes 8GB`); the behavior of a full stream is fixed. For `ui-rl runs list`, `show`, `stop` and ' +
  '`delete`, see the [command line](command-line.md#ui-rl-runs). The disk limits everything.';

const OWNED = ['belongs to', 'at most', 'when full', 'is deleted'];

function streamRow(kept: contracts.KeptStream): string[] {
  const { name, subjects, kind, maxPerSubject, owner, whenFull, deleted } = kept;
  const perSubject = kind === 'queue' ? `${maxPerSubject} messages of a subject` : undefined;
  const limit = limitOf(kept, perSubject);
  return [code(name), subjects.map(code).join(', '), KINDS[kind], owner, limit, whenFull, deleted];
}

const KINDS: Readonly<Record<contracts.KeptStream['kind'], string>> = {
  queue: 'work queue',
  log: 'log',
  latest: 'last message of each subject',
};

function bucketRow(kept: contracts.KeptBucket): string[] {
  const { name, kind, owner, limit, whenFull, deleted } = kept;
  return [code(name), kind, owner, limitOf(kept, limit), whenFull, deleted];
}

function limitOf(
  { maxBytes, maxAgeMs }: Pick<contracts.KeptBucket, 'maxBytes' | 'maxAgeMs'>,
  further?: string,
): string {
  const limits = [
    maxBytes === undefined ? undefined : `${maxBytes / 2 ** 20} MiB`,
    maxAgeMs === undefined ? undefined : durationOf(maxAgeMs),
    further,
  ];
  return limits.filter((limit) => limit !== undefined).join(', ');
}

function durationOf(ms: number): string {
  const minutes = ms / 60_000;
  return minutes % 1440 === 0 ? `${minutes / 1440} days` : `${minutes} minutes`;
}

function constantsOf(variable: 'subjects' | 'runKeys'): string[][] {
  const source = parsed('libs/contracts/src/names.ts');
  const declaration = nodes(source, ts.isVariableDeclaration).find(
    ({ name }) => name.getText() === variable,
  )!;
  const { subjects, runKeys } = contracts;
  const made = { subjects, runKeys }[variable] as unknown as Record<string, (...parts: string[]) => string>;
  return nodes(declaration, ts.isPropertyAssignment).map((entry) => {
    const name = entry.name.getText();
    const parameters = nodes(entry, ts.isParameter).map((each) => `<${each.name.getText()}>`);
    return [code(made[name](...parameters)), code(name), docOf(entry)];
  });
}

/** Object literals in services that name a stream and a durable consumer of it. */
function consumers(): string[][] {
  const sources = sourcesIn('services').filter((file) => !file.split('/').includes('test'));
  return sources.flatMap((file) => {
    const service = file.split('/')[1];
    return nodes(parsed(file), ts.isObjectLiteralExpression).flatMap((literal) => {
      const [stream, durable, subject] = ['stream', 'durable', 'subject'].map((key) =>
        property(literal, key),
      );
      if (stream === undefined || durable === undefined) return [];
      const name = (contracts.STREAMS as Record<string, string>)[stream.replace('STREAMS.', '')] ?? stream;
      const readable = templateOf(durable, file)
        .replace(/^consumers\.(\w+)\(\w+\)$/, (_, name: keyof typeof contracts.consumers) =>
          contracts.consumers[name]('<run>'),
        )
        .replaceAll(/['`]/g, '')
        .replaceAll(/\$\{[^}]*run[^}]*\}/gi, '<run>')
        .replaceAll(/\$\{(\w+)\}/g, '<$1>');
      return [[service, code(name), code(readable), code(madeSubject(subject ?? ''))]];
    });
  });
}

/**
 * The template of a name: if a function builds it, in this file or in an imported one, the template that it returns.
 */
function templateOf(name: string, file: string): string {
  const [, called] = /^(\w+)\(/.exec(name) ?? [];
  if (called === undefined) return name;
  const made = sourcesIn(file.split('/src/')[0]).flatMap((own) =>
    nodes(parsed(own), ts.isFunctionDeclaration).filter((each) => each.name?.getText() === called),
  );
  const [returned] = made.flatMap((each) => nodes(each, ts.isReturnStatement));
  return returned?.expression?.getText() ?? name;
}

/** `subjects.rollout(runId, ANY)` → `uirl.rollout.<run>.*` */
function madeSubject(call: string): string {
  const [, name, list] = /^subjects\.(\w+)\((.*)\)$/s.exec(call) ?? [];
  if (name === undefined)
    throw new Error(`the subject of a consumer is ${call}, expected subjects.<name>(…)`);
  const make = (contracts.subjects as unknown as Record<string, (...parts: string[]) => string>)[name];
  return make(...list.split(',').map((argument) => readableArgument(argument.trim())));
}

function readableArgument(argument: string): string {
  if (argument === 'ANY') return '*';
  if (argument.startsWith("'")) return argument.slice(1, -1);
  return /run/i.test(argument) ? '<run>' : `<${argument}>`;
}

function property(literal: ts.ObjectLiteralExpression, key: string): string | undefined {
  const found = literal.properties.find((each) => each.name?.getText() === key);
  return found !== undefined && ts.isPropertyAssignment(found) ? found.initializer.getText() : undefined;
}

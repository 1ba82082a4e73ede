import * as contracts from '@ui-rl/contracts';
import { describeOptions, type OptionsClass } from '@ui-rl/plugin-kit';
import ts from 'typescript';
import { code, page, table, type Page } from './markdown';
import { docOf, fieldsOf, nodes, parsed, sourcesIn, type Field } from './sources';

/** Messages with their fields; subjects, streams, buckets and the consumers that read them. */
export function messagesPage(): Page {
  const files = sourcesIn('libs/contracts/src').map(parsed);
  const declared = files.flatMap((file) => nodes(file, isType));
  return page('messages.md', 'Messages and streams', '`libs/contracts`, `libs/bus` and the services', [
    'Messages in streams are JSON; requests and replies are MessagePack. `<run>` is a run id.',
    '## Streams, subjects, buckets',
    streams(),
    '## Consumers',
    'Durable consumers of the streams; processes that share one share its work. Attempts and pauses: [retries](retries.md).',
    table(['service', 'stream', 'durable', 'subject'], consumers()),
    '## Subjects',
    table(['subject', 'name in code', 'what'], constantsOf('subjects')),
    '## Keys of the bucket `runs`',
    table(['key', 'name in code', 'what'], constantsOf('runKeys')),
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
  return [`### ${name}`, docOf(node), table(['field', 'type', 'check', 'what'], rows)]
    .filter((part) => part !== '')
    .join('\n\n');
}

function row({ name, type, optional, doc }: Field, check = ''): string[] {
  return [code(`${name}${optional ? '?' : ''}`), code(type), check, doc];
}

/** What fits each field, in words, by its validators. */
export function expectations(type: OptionsClass): Map<string, string> {
  const plain = (expected: string): string => (/nested|defined|any value/.test(expected) ? '' : expected);
  return new Map(describeOptions(type).map(({ name, expected }) => [name, plain(expected)]));
}

function streams(): string {
  const source = parsed('libs/bus/src/topology.ts');
  const specs = nodes(source, ts.isVariableDeclaration).find(
    ({ name }) => name.getText() === 'STREAM_SPECS',
  )!;
  const rows = nodes(specs, ts.isObjectLiteralExpression).map((spec) => {
    const value = (key: string): string => property(spec, key) ?? '';
    const name = (contracts.STREAMS as Record<string, string>)[value('name').replace('STREAMS.', '')];
    const subject = value('subjects').replaceAll(/[[\]]|subjects\.|\(.*\)/g, '');
    const retention = value('retention').replace('RetentionPolicy.', '').toLowerCase();
    const full = value('discard').endsWith('New') ? 'refuses new messages' : 'drops its oldest';
    const days = `${/\d+/.exec(value('max_age'))?.[0]} days, ${value('max_bytes').replace(' * MEBIBYTE', ' MiB')}`;
    return [code(name), code(subjectOf(subject)), retention, days, full];
  });
  const buckets = Object.values(contracts.BUCKETS).map((name) => code(name));
  return `${table(['stream', 'subjects', 'kind', 'keeps', 'when full'], rows)}\n\nBuckets (key-value and object stores): ${buckets.join(', ')}.`;
}

function subjectOf(name: string): string {
  const make = (contracts.subjects as unknown as Record<string, (...parts: string[]) => string>)[name];
  return make('*', '*');
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

/** Object literals of the services that name a stream and a durable consumer of it. */
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
      const readable = durable
        .replaceAll(/['`]/g, '')
        .replaceAll(/\$\{[^}]*run[^}]*\}/gi, '<run>')
        .replaceAll(/\$\{(\w+)\}/g, '<$1>');
      return [[service, code(name), code(readable), code(madeSubject(subject ?? ''))]];
    });
  });
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

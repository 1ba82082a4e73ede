import ts from 'typescript';
import { EpisodeQuery } from '../../services/monitor/src/http/episode-query';
import { RunControl } from '../../services/monitor/src/http/run-control';
import { RunEdit } from '../../services/monitor/src/http/run-edit';
import { RunQuery } from '../../services/monitor/src/http/run-query';
import { expectations } from './messages';
import { code, page, table, type Page } from './markdown';
import { docOf, type Field, fieldsOf, nodes, parsed, sourcesIn } from './sources';

const CHANGES = `Answers are compressed. To read only what changed, send the \`ETag\` of an earlier answer as \`?since=\` to a route of
runs or episodes. If the monitor still knows that answer, it sends the header \`Delta-Base\` and
\`{ change: Change }\`:

\`\`\`ts
type Change =
  | null // nothing changed
  | { value: unknown } // the new value
  | { fields: Record<string, Change>; removed: string[] } // of an object
  | { parts: ({ from: number; count: number } | { items: unknown[] })[] }; // a list: old elements, new elements
\`\`\`

Otherwise it sends the whole answer.`;

/** Routes of the monitor, and their response types. */
export function httpPage(): Page {
  const controllers = sourcesIn('services/monitor/src/http').map(parsed);
  const rows = controllers.flatMap((file) => nodes(file, ts.isClassDeclaration).flatMap(routesOf));
  const views = sourcesIn('libs/records/src')
    .map(parsed)
    .flatMap((file) => nodes(file, ts.isInterfaceDeclaration));
  const live = nodes(parsed('services/monitor/src/live.ts'), ts.isInterfaceDeclaration);
  const names = new Set<string>();
  collect(rows.map(([, answers]) => answers).join(' '), [...views, ...live], names);
  const types = [...views, ...live].filter(({ name }) => names.has(name.text));
  const sections = types.map(
    (type) => `## ${type.name.text}\n\n${[docOf(type), fieldTable(type)].filter(Boolean).join('\n\n')}`,
  );
  const mentioned = [...rows.map(([, answers]) => answers), ...sections].join(' ');
  return page('http.md', 'HTTP API of the monitor', '`services/monitor` and `libs/records`', [
    'Everything is `GET` and changes nothing, except the routes marked `PATCH` and `PUT`. An unknown query parameter or field is refused with status 400, an unknown id with 404, and a change from the page of another address with 403.',
    table(['route', 'answers with', 'what'], rows),
    CHANGES,
    `Described with the [messages](messages.md#messages): ${messagesIn(mentioned).join(', ')}.`,
    '## Parameters of `/api/runs`',
    table(['parameter', 'check', 'what'], parametersOf('run-query', RunQuery)),
    '## Parameters of `/api/runs/:run/episodes`',
    table(['parameter', 'check', 'what'], parametersOf('episode-query', EpisodeQuery)),
    '## Body of `PATCH /api/runs/:run`',
    'JSON, with `Content-Type: application/json`. Missing fields stay as they are.',
    table(['field', 'check', 'what'], parametersOf('run-edit', RunEdit)),
    '## Body of `PUT /api/runs/:run/control`',
    'JSON, with `Content-Type: application/json`.',
    table(['field', 'check', 'what'], parametersOf('run-control', RunControl)),
    ...sections,
  ]);
}

function parametersOf(file: string, type: new () => object): string[][] {
  const [query] = nodes(parsed(`services/monitor/src/http/${file}.ts`), ts.isClassDeclaration);
  const checks = expectations(type);
  return fieldsOf(query).map(({ name, doc }) => [code(name), checks.get(name) ?? '', doc]);
}

/** Message classes that a text mentions, as links. */
function messagesIn(text: string): string[] {
  const classes = sourcesIn('libs/contracts/src')
    .map(parsed)
    .flatMap((file) => nodes(file, ts.isClassDeclaration));
  return classes
    .map((each) => each.name!.text)
    .filter((name) => new RegExp(`\\b${name}\\b`).test(text))
    .map((name) => `[${code(name)}](messages.md#${name.toLowerCase()})`);
}

/** Decorators of routes that change something. */
const CHANGING = ['Patch', 'Put'];

function routesOf(controller: ts.ClassDeclaration): string[][] {
  const base = decoratorOf(controller, 'Controller');
  if (base === undefined) return [];
  return controller.members.filter(ts.isMethodDeclaration).flatMap((method) => {
    const [verb = '', changed] = CHANGING.flatMap((name) => {
      const path = decoratorOf(method, name);
      return path === undefined ? [] : [`${name.toUpperCase()} `, path];
    });
    const path = changed ?? decoratorOf(method, 'Get') ?? decoratorOf(method, 'Sse');
    if (path === undefined) return [];
    const type = method.type?.getText().replace(/^(Promise|Observable)<(.*)>$/s, '$2') ?? '';
    const query = method.parameters.flatMap((each) => decoratorOf(each, 'Query') ?? []);
    const parameters = query.filter((name) => name !== '').map((name) => `?${name}=`);
    return [
      [
        code(`${verb}/${[base, path].filter(Boolean).join('/')}${parameters.join('')}`),
        code(type),
        docOf(method),
      ],
    ];
  });
}

/** The argument of a decorator, '' if it has none; undefined without such a decorator. */
function decoratorOf(node: ts.HasDecorators, name: string): string | undefined {
  for (const { expression } of ts.getDecorators(node) ?? []) {
    if (!ts.isCallExpression(expression) || expression.expression.getText() !== name) continue;
    const [argument] = expression.arguments;
    return argument !== undefined && ts.isStringLiteral(argument) ? argument.text : '';
  }
  return undefined;
}

/** Names of the types that a text mentions, and of those that these mention. */
function collect(text: string, types: readonly ts.InterfaceDeclaration[], names: Set<string>): void {
  for (const type of types) {
    const name = type.name.text;
    if (names.has(name) || !new RegExp(`\\b${name}\\b`).test(text)) continue;
    names.add(name);
    collect(type.getText(), types, names);
  }
}

function fieldTable(type: ts.InterfaceDeclaration): string {
  const base = type.heritageClauses?.[0];
  const columns = base === undefined ? undefined : columnsIn(base.types[0]);
  const rows = [...(columns ?? []), ...fieldsOf(type)].map(({ name, type: kind, optional, doc }) => [
    code(`${name}${optional ? '?' : ''}`),
    code(kind),
    doc,
  ]);
  const extended = base === undefined || columns !== undefined ? '' : `${base.getText()}.`;
  return [extended, table(['field', 'type', 'what'], rows)].filter(Boolean).join('\n\n');
}

/** The fields that `Omit<entity, names>` leaves; undefined for any other base. */
function columnsIn({ expression, typeArguments }: ts.ExpressionWithTypeArguments): Field[] | undefined {
  if (expression.getText() !== 'Omit') return undefined;
  const [entity, omitted] = typeArguments!.map((each) => each.getText());
  const declared = sourcesIn('libs/records/src/entities')
    .map(parsed)
    .flatMap((file) => nodes(file, ts.isClassDeclaration))
    .find(({ name }) => name?.text === entity);
  return fieldsOf(declared!).filter(({ name }) => !omitted.includes(`'${name}'`));
}

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

/** An exported span. */
export interface CollectedSpan {
  /** Value of `service.name`. */
  service: string;
  trace: string;
  id: string;
  /** Empty for the root span of a trace. */
  parent: string;
  name: string;
  failed: boolean;
  /** Trace ids of linked spans. */
  links: string[];
}

/** Receives OTLP exports over HTTP as protobuf, and stores them. */
export class TraceCollector {
  readonly spans: CollectedSpan[] = [];

  private constructor(private readonly server: Server) {}

  static async start(): Promise<TraceCollector> {
    const server = createServer();
    const collector = new TraceCollector(server);
    server.on('request', (request, response) => void collector.take(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return collector;
  }

  /** Value for `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  get endpoint(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Spans by trace id. */
  get traces(): Map<string, CollectedSpan[]> {
    const traces = new Map<string, CollectedSpan[]>();
    for (const span of this.spans) traces.set(span.trace, [...(traces.get(span.trace) ?? []), span]);
    return traces;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const isTraces = request.method === 'POST' && request.url === '/v1/traces';
    if (isTraces) this.spans.push(...spansOf(Buffer.concat(chunks)));
    response.writeHead(isTraces ? 200 : 404).end();
  }
}

type Fields = Map<number, (Uint8Array | bigint)[]>;

function fieldsOf(bytes: Uint8Array): Fields {
  const reader = new BinaryReader(bytes);
  const fields: Fields = new Map();
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    const value =
      type === WireType.LengthDelimited
        ? reader.bytes()
        : type === WireType.Varint
          ? BigInt(reader.uint64())
          : null;
    if (value === null) reader.skip(type);
    else fields.set(field, [...(fields.get(field) ?? []), value]);
  }
  return fields;
}

function within(bytes: Uint8Array, field: number): Uint8Array[] {
  return (fieldsOf(bytes).get(field) ?? []) as Uint8Array[];
}

function textOf(bytes: Uint8Array | undefined): string {
  return Buffer.from(bytes ?? []).toString();
}

/** Field numbers of opentelemetry/proto/collector/trace/v1, trace/v1, resource/v1 and common/v1. */
function spansOf(request: Uint8Array): CollectedSpan[] {
  return within(request, 1).flatMap((resourceSpans) => {
    const attributes = within(resourceSpans, 1).flatMap((resource) => within(resource, 1));
    const named = attributes.find((attribute) => textOf(within(attribute, 1)[0]) === 'service.name');
    const service = named === undefined ? '' : textOf(within(within(named, 2)[0], 1)[0]);
    const spans = within(resourceSpans, 2).flatMap((scope) => within(scope, 2));
    return spans.map((span) => spanOf(span, service));
  });
}

function spanOf(span: Uint8Array, service: string): CollectedSpan {
  const hex = (bytes: Uint8Array, field: number): string =>
    Buffer.from(within(bytes, field)[0] ?? []).toString('hex');
  const status = within(span, 15)[0];
  return {
    service,
    trace: hex(span, 1),
    id: hex(span, 2),
    parent: hex(span, 4),
    name: textOf(within(span, 5)[0]),
    failed: status !== undefined && fieldsOf(status).get(3)?.[0] === 2n,
    links: within(span, 13).map((link) => hex(link, 1)),
  };
}

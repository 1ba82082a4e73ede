import { hostname } from 'node:os';
import { Logger } from '@nestjs/common';
import { DEADLINES, waitAtMost } from '@ui-rl/retry';
import { withoutUrlSecrets } from '@ui-rl/plugin-kit';

/**
 * Sends the spans of this process to an OpenTelemetry collector (OTLP over HTTP): those of the bus and any others.
 * OpenTelemetry's library reads its own variables for sampling, batches and headers.
 * @param url of the collector's traces: `http://127.0.0.1:4318/v1/traces`
 */
export async function startTracing(service: string, url: string): Promise<{ close(): Promise<void> }> {
  // Loaded only on demand.
  const [
    { diag, DiagLogLevel },
    { resourceFromAttributes },
    { BatchSpanProcessor, NodeTracerProvider },
    exporter,
  ] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/sdk-trace-node'),
    import('@opentelemetry/exporter-trace-otlp-proto'),
  ]);
  const logger = new Logger('tracing');
  const warn = (message: string): void => logger.warn(message);
  const silent = (): void => undefined;
  diag.setLogger({ error: warn, warn, info: silent, debug: silent, verbose: silent }, DiagLogLevel.WARN);
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({
      'service.namespace': 'ui-rl',
      'service.name': service,
      'service.instance.id': `${hostname()}-${process.pid}`,
    }),
    spanProcessors: [new BatchSpanProcessor(new exporter.OTLPTraceExporter({ url }))],
  });
  provider.register();
  logger.log(`traces go to ${withoutUrlSecrets(url)}`);
  // Limits the wait for an unavailable collector.
  return { close: () => waitAtMost(DEADLINES.traces.ms, provider.shutdown()) };
}

import type { JetStreamManager } from '@nats-io/jetstream';
import { STREAMS } from '@ui-rl/contracts';

/** Messages and bytes received and sent by the broker since its start. */
export interface Counters {
  inMessages: number;
  outMessages: number;
  inBytes: number;
  outBytes: number;
  connections: number;
  slowConsumers: number;
}

export interface StreamReading {
  /** Total number of stored messages. */
  stored: number;
  messages: number;
  bytes: number;
}

/** The backlog of a consumer. */
export interface Lag {
  /** Undelivered messages. */
  waiting: number;
  /** Delivered messages without acknowledgement. */
  unacknowledged: number;
  redelivered: number;
}

export interface BrokerReading {
  counters: Counters;
  streams: Record<string, StreamReading>;
  /** By `<stream> <consumer>`. */
  lags: Record<string, Lag>;
}

interface Varz {
  in_msgs: number;
  out_msgs: number;
  in_bytes: number;
  out_bytes: number;
  connections: number;
  slow_consumers: number;
}

/** @param monitoring address of the broker's monitoring endpoint */
export async function readBroker(jsm: JetStreamManager, monitoring: string): Promise<BrokerReading> {
  const [counters, streams, lags] = await Promise.all([
    readCounters(monitoring),
    streamsOf(jsm),
    lagsOf(jsm),
  ]);
  return { counters, streams, lags };
}

export async function readCounters(monitoring: string): Promise<Counters> {
  const varz = (await (await fetch(`${monitoring}/varz`)).json()) as Varz;
  return {
    inMessages: varz.in_msgs,
    outMessages: varz.out_msgs,
    inBytes: varz.in_bytes,
    outBytes: varz.out_bytes,
    connections: varz.connections,
    slowConsumers: varz.slow_consumers,
  };
}

async function streamsOf(jsm: JetStreamManager): Promise<Record<string, StreamReading>> {
  const streams: Record<string, StreamReading> = {};
  for await (const { config, state } of jsm.streams.list()) {
    streams[config.name] = { stored: state.last_seq, messages: state.messages, bytes: state.bytes };
  }
  return streams;
}

async function lagsOf(jsm: JetStreamManager): Promise<Record<string, Lag>> {
  const lags: Record<string, Lag> = {};
  for (const stream of Object.values(STREAMS)) {
    for await (const { name, num_pending, num_ack_pending, num_redelivered } of jsm.consumers.list(stream)) {
      lags[`${stream} ${name}`] = {
        waiting: num_pending,
        unacknowledged: num_ack_pending,
        redelivered: num_redelivered,
      };
    }
  }
  return lags;
}

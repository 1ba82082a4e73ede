import { headers } from '@nats-io/transport-node';
import { DEADLINES } from '@ui-rl/retry';
import type { Broker } from './broker';
import { lookUp } from './copies';
import { BusError } from './errors';

/** Where the parts of a payload are stored: stream messages, by number. */
export interface PartsPlace {
  stream: string;
  subjectOf: (part: number) => string;
}

/** Part 0 states the number of parts in this header. */
const PARTS = 'Uirl-Parts';

/** Maximum size of a payload in parts; a service holds several in memory. */
export const MAX_PARTED_BYTES = 64 * 2 ** 20;

/** Measured with files: 128 KiB, the default of object stores, takes twice as long; larger parts gain nothing. */
const LARGEST_PART_BYTES = 512 * 1024;

/** Maximum part size that the broker accepts, in bytes. */
export function partBytes(broker: Broker): number {
  return Math.min(LARGEST_PART_BYTES, broker.maxMessageBytes);
}

/**
 * Stores bytes as messages of a size that the broker accepts. Part 0 is written last: its presence proves that all
 * parts exist. Idempotent.
 */
export async function writeParts(broker: Broker, place: PartsPlace, bytes: Uint8Array): Promise<void> {
  const size = partBytes(broker);
  const parts = Math.max(1, Math.ceil(bytes.byteLength / size));
  for (let part = parts - 1; part >= 0; part -= 1) {
    const header = headers();
    header.set(PARTS, String(parts));
    await broker.js.publish(place.subjectOf(part), bytes.subarray(part * size, (part + 1) * size), {
      headers: header,
      timeout: DEADLINES.publish.ms,
    });
  }
}

/** The bytes; null if they are missing or deleted. Throws `BusError` `damaged` for parts that do not match. */
export async function readParts(broker: Broker, place: PartsPlace): Promise<Uint8Array | null> {
  const read = (part: number) =>
    lookUp(broker, () => broker.jsm.direct.getMessage(place.stream, { last_by_subj: place.subjectOf(part) }));
  const first = await read(0);
  if (first === null) return null;
  const parts = Number(first.header.get(PARTS));
  if (!Number.isInteger(parts) || parts < 1)
    throw new BusError('damaged', `${first.subject} does not say how many parts there are`);
  const found = [first.data];
  let total = first.data.byteLength;
  for (let part = 1; part < parts; part += 1) {
    const next = await read(part);
    if (next === null) return null;
    total += next.data.byteLength;
    if (total > MAX_PARTED_BYTES)
      throw new BusError('damaged', `${first.subject} has parts of more than ${MAX_PARTED_BYTES} bytes`);
    found.push(next.data);
  }
  return found.length === 1 ? found[0] : Buffer.concat(found);
}

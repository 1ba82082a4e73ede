import { randomUUID } from 'node:crypto';
import { headers, type Msg, type MsgHdrs } from '@nats-io/transport-node';
import { STREAMS, subjects } from '@ui-rl/contracts';
import type { Broker } from './broker';
import { MAX_PARTED_BYTES, readParts, writeParts, type PartsPlace } from './parts';

/** Header of a message that stands for a larger request or reply, stored under this id. */
const PARCEL = 'Uirl-Parcel';
const ID = /^[0-9a-f-]{36}$/;

export interface Sendable {
  payload: Uint8Array;
  headers?: MsgHdrs;
}

/**
 * The message to send: the request or reply itself, or, if it exceeds the broker's limit, a message that refers to
 * the stored payload.
 */
export async function packed(broker: Broker, payload: Uint8Array): Promise<Sendable> {
  if (payload.byteLength <= broker.maxMessageBytes) return { payload };
  const id = randomUUID();
  await writeParts(broker, placeOf(id), payload);
  const header = headers();
  header.set(PARCEL, id);
  return { payload: new Uint8Array(0), headers: header };
}

/** Maximum size of a request or reply in bytes. */
export const MAX_REQUEST_BYTES = MAX_PARTED_BYTES;

/**
 * The payload of a request or reply, inline or stored; null if the stored one is missing. Throws `BusError`
 * `damaged`.
 */
export async function unpacked(broker: Broker, message: Msg): Promise<Uint8Array | null> {
  const id = message.headers?.get(PARCEL) ?? '';
  if (id === '') return message.data;
  return ID.test(id) ? readParts(broker, placeOf(id)) : null;
}

function placeOf(id: string): PartsPlace {
  return { stream: STREAMS.parcels, subjectOf: (part) => subjects.parcel(id, part) };
}

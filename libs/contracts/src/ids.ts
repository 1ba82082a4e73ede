import { Matches } from 'class-validator';
import { RUN_ID } from './names';

/** Ids of rollouts, groups, evaluations and sessions: part of message ids, keys and addresses of the page. */
const ID = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,255}$/;
/** Names of services and components: one token of a subject. */
const TOKEN = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;
/** Ids of rollouts, and of requests within them. */
const REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9_.:~/-]{0,298}$/;
const SHA256 = /^[0-9a-f]{64}$/;

/** Names of components: lower-case words joined by `-` or `_`. */
export const COMPONENT_NAME = /^[a-z][a-z0-9]*([-_][a-z0-9]+)*$/;

export function IsRunId(): PropertyDecorator {
  return Matches(RUN_ID, { message: '$property must be a run id' });
}

export function IsId(): PropertyDecorator {
  return Matches(ID, { message: '$property must be an id of letters, digits and _ . : -' });
}

export function IsToken(): PropertyDecorator {
  return Matches(TOKEN, { message: '$property must be a name of letters, digits and _ -' });
}

export function IsRequestId(): PropertyDecorator {
  return Matches(REQUEST_ID, { message: '$property must be an id of letters, digits and _ . : ~ / -' });
}

/** Hexadecimal. */
export function IsSha256(each = false): PropertyDecorator {
  return Matches(SHA256, { each, message: '$property must be a sha256 of 64 hexadecimal digits' });
}

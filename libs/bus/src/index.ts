export { accountsConfiguration, API_PREFIX } from './accounts';
export { BlobStore, sha256, type RunBlobs } from './blobs';
export { BusService } from './bus';
export {
  instantiate,
  readBinary,
  readJson,
  writeBinary,
  writeJson,
  type MessageClass,
  type MessageSchema,
  type MessageUnion,
  type Read,
} from './codec';
export type { ConsumeOptions, Consumption, JetStreamContext, RedeliveryPolicy } from './consume';
export { JetStreamHandler, RequestHandler } from './decorators';
export type { JetStreamHandlerOptions, RequestHandlerOptions } from './decorators';
export { BusError, nullWhereDamaged, UnacceptableMessage, type BusErrorCategory } from './errors';
export {
  AdapterArchive,
  CheckpointArchive,
  findDamage,
  MANIFEST_FILE,
  manifestOf,
  resolveCheckpoint,
  SharedFiles,
  syncFolder,
  syncTree,
  writeManifest,
  type AdapterId,
  type CheckpointPlaces,
  type FolderManifest,
  type StoredCheckpoint,
} from './files';
export { KvBucket, type KvChange, type KvEntry } from './kv';
export { Lease, LeaseLost, type LeaseRequest } from './lease';
export { BusModule } from './module';
export type { BusOptions } from './options';
export { failure, isFailure } from './reply';
export { isUnanswered } from './request';
export type { RequestContext, Responder, RespondOptions } from './respond';
export type { HousekeepingOptions } from './housekeeping';
export { FINAL_PHASES, RunDirectory, type RunSnapshot, type ShownRunFile } from './runs';
export { RunStorage, type ConsumerUse, type MessageUse, type RunUse } from './run-storage';
export type { DeadLetter } from './dead-letter';
export { inspectBroker, type BrokerFacts } from './inspect';
export { inspectBucket, type S3Options } from './s3';
export { BusStrategy } from './strategy';

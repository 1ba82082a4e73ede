export { AdapterArchive, type AdapterId } from './adapter-archive';
export { CheckpointArchive, type StoredCheckpoint } from './checkpoint-archive';
export type { FileStore, StoredFile } from './file-store';
export {
  findDamage,
  MANIFEST_FILE,
  manifestOf,
  writeManifest,
  type Digest,
  type FolderManifest,
  type ManifestFile,
} from './manifest';
export { NatsFileStore } from './nats-file-store';
export { resolveCheckpoint, type CheckpointPlaces } from './resolve-checkpoint';
export { SharedFiles } from './shared-files';
export { syncFolder, syncTree } from './sync';

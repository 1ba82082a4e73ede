export { CheckpointArchive } from './checkpoint-archive';
export { FileStore, type StoredFile } from './file-store';
export {
  MANIFEST_FILE,
  manifestOf,
  writeManifest,
  type Digest,
  type FolderManifest,
  type ManifestFile,
} from './manifest';
export { resolveCheckpoint, type CheckpointPlaces } from './resolve-checkpoint';
export { SharedFiles } from './shared-files';

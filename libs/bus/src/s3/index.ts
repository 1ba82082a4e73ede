export { S3Blobs } from './blobs';
export { S3Bucket } from './bucket';
export { S3FileStore } from './file-store';
export { identityOf } from './identity';
export { inspectBucket } from './inspect';
export { addressOf, placeOf, type S3Options } from './options';

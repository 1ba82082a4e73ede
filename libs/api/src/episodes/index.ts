export {
  EXPORT_FORMATS,
  exportEpisodes,
  type ExportedFile,
  type ExportEpisodesOptions,
  type ExportFormat,
} from './export-episodes';
export type { EpisodeFilter } from './filter';
export {
  IMPORT_FORMATS,
  importEpisodes,
  type ImportEpisodesOptions,
  type ImportFormat,
} from './import-episodes';
export type { ImportedFile, LeftOut } from './import-report';
export { MonitorEpisodes, type MonitorAddress } from './monitor-source';
export { playTeacher, type PlayTeacherOptions, type TaughtEpisodes } from './play-teacher';
export { FileEpisodes, type EpisodeSource } from './source';
export { rescoreEpisodes, type RescoreEpisodesOptions } from './rescore-episodes';
export type { ChangedScore, RescoredFile } from './rescore-report';

export { actReply, isFaultOfRequest } from './act-reply';
export { describeActions, readAnswer } from './answer';
export { Clock } from './clock';
export { mayOpenLater, type EpisodeEnvironment, type SessionUse, type State } from './environment';
export { EpisodeFailure, Stopped } from './failure';
export { goalOf } from './goal';
export { judge, type PlayedEpisode } from './judge';
export { IsolatedComponent } from './isolation/isolated-component';
export {
  maxTurnsOf,
  planEpisodes,
  type EpisodePlan,
  type EpisodeSettings,
  type Named,
  type PlannedEpisodes,
} from './plan';
export { playRollout, trajectory, type RolloutContext } from './play-rollout';
export { PhaseClock } from './phase-clock';
export { playedEnvironment } from './played-environment';
export type { Policy } from './policy';
export { Screenshots, type ScreenshotStore } from './screenshots';
export { leaseOf, SessionEnvironment, type SessionTimes } from './session-environment';
export { EpisodeFile, EpisodeFileError, type ReadEpisode } from './stored/episode-file';
export { linesOf, MAX_LINE_BYTES, readLine, type Line, type LinePlace } from './stored/lines';
export { startSessions, type StartSessions } from './start-sessions';
export { turnOf, turnSeed } from './turn';

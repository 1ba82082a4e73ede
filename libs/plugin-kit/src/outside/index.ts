export { isServerAddress, readAddresses, readServerKeys, serverAddress } from './addresses';
export { connectionsOf, type OutsideChoice } from './connections';
export { OutsideEpisodes } from './episodes';
export { OutsideError, type OutsideErrorCode } from './errors';
export { screenshotOfPng } from './png';
export { asOutsideReply, outsideText } from './reply';
export {
  OutsideServer,
  parseJson,
  refuseLink,
  shownAnswer,
  type ServerAnswer,
  type ServerConnection,
  type ServerQuestion,
  type ServerStream,
} from './server';
export { OutsideServers, type ServerPlace } from './servers';
export { OutsideSession } from './session';

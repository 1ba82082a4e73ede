import { WebSocket } from 'ws';

/**
 * Maximum number of unread bytes per peer. A peer that exceeds it is disconnected, because its backlog would fill the
 * service's memory.
 */
export const MAX_UNREAD_BYTES = 16 * 2 ** 20;

/** Sends a text to a peer, and disconnects one that does not read. Does nothing if the socket is closed. */
export function sendText(socket: WebSocket, text: string): void {
  if (isReading(socket)) socket.send(text);
}

/**
 * Answers pings of a peer that reads. For servers with `autoPong: false`; automatic pongs to a peer that does not
 * read would accumulate.
 */
export function answerPings(socket: WebSocket): void {
  socket.on('ping', (data: Buffer) => {
    if (isReading(socket)) socket.pong(data);
  });
}

function isReading(socket: WebSocket): boolean {
  if (socket.readyState !== WebSocket.OPEN) return false;
  if (socket.bufferedAmount <= MAX_UNREAD_BYTES) return true;
  socket.terminate();
  return false;
}

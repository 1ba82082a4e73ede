import { WebSocket } from 'ws';

/** Bytes that may wait for a peer to read them. One that leaves more unread is cut off: what it is owed would fill the service's memory. */
export const MAX_UNREAD_BYTES = 16 * 2 ** 20;

/** Sends a text to a peer that reads, and cuts off one that does not. Nothing where the socket is closed. */
export function sendText(socket: WebSocket, text: string): void {
  if (isReading(socket)) socket.send(text);
}

/** Answers pings of a peer that reads. For servers with `autoPong: false`, which would answer any number of them unread. */
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

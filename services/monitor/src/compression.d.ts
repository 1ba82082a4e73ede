/** The types from npm bring those of Express, which change the types of Nest. */
declare module 'compression' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  type Filter = (request: IncomingMessage, response: ServerResponse) => boolean;
  type Handler = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;
  const compression: ((options?: { filter?: Filter }) => Handler) & { filter: Filter };
  export = compression;
}

/**
 * Whether a nats-server of that version keeps work queues in a cluster as they are while its servers die and come back: from 2.11 on.
 * 2.10 leaves messages in the stream that were acknowledged, and 2.9 counts deliveries that reached nobody, too.
 */
export function keepsQueuesWhole(version: string): boolean {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  // What calls itself otherwise is of somebody who built it.
  return major === undefined || Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 11);
}

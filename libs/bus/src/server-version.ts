/**
 * Whether clustered work queues of this nats-server version survive the death of servers intact: from 2.11 on.
 * 2.10 leaves acknowledged messages in the stream, and 2.9 also counts deliveries that never arrived.
 */
export function keepsQueuesWhole(version: string): boolean {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  // Any other version string belongs to a custom build, which counts as recent.
  return major === undefined || Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 11);
}

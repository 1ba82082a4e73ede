import { readFileSync } from 'node:fs';

/** Users without an account, in a range that systemd leaves free: 60578 to 61183. Each display number has its own. */
export const FIRST_USER = 60_578;
export const USERS = 606;
/** Variable that marks the processes of a desktop where they have no user of their own. */
export const MARK = 'UIRL_DESKTOP';

/** Which desktop a process belongs to: by the user that only its processes have, else by their mark. */
export type Owner = `user ${number}` | `mark ${string}`;

/** @param status `/proc/<pid>/status` */
export function ownerIn(status: string, pid: string): Owner | null {
  if (process.getuid?.() === 0) {
    const user = Number(/^Uid:\s+(\d+)/m.exec(status)?.[1] ?? 0);
    return user >= FIRST_USER && user < FIRST_USER + USERS ? `user ${user}` : null;
  }
  const mark = new RegExp(`(?:^|\\0)${MARK}=([^\\0]*)`).exec(
    readFileSync(`/proc/${pid}/environ`, 'latin1'),
  )?.[1];
  return mark === undefined ? null : `mark ${mark}`;
}

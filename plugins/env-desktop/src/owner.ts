import { readFileSync } from 'node:fs';

/**
 * User ids without accounts, in a range that systemd leaves free: 60578 to 61183. Each display number has its own.
 */
export const FIRST_USER = 60_578;
export const USERS = 606;
/** Environment variable that marks the processes of a desktop if they do not have their own user. */
export const MARK = 'UIRL_DESKTOP';

/** The desktop of a process: identified by its dedicated user, otherwise by its mark. */
export type Owner = `user ${number}` | `mark ${string}`;

/** @param status content of `/proc/<pid>/status` */
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

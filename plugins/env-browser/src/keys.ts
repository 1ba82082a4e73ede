/** Whether a key stands on the keyboard Playwright imitates; other characters can only be inserted. */
export function isOnKeyboard(key: string): boolean {
  return !/^.$/su.test(key) || /^[\x20-\x7e]$/.test(key);
}

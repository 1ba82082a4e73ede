/** Whether Playwright's keyboard layout has the key; other characters can only be inserted. */
export function isOnKeyboard(key: string): boolean {
  return !/^.$/su.test(key) || /^[\x20-\x7e]$/.test(key);
}

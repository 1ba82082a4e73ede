import { findChromium } from './find-chromium';

describe('findChromium', () => {
  it('takes the browser requested, then the one Playwright brought', () => {
    expect(findChromium(process.execPath, __filename)).toBe(process.execPath);
    expect(findChromium(undefined, __filename)).toBe(__filename);
  });

  it('says how to install one', () => {
    expect(() => findChromium('/none/chrome', '')).toThrow(
      /no browser at \/none\/chrome .*npx playwright install --with-deps chromium/,
    );
  });
});

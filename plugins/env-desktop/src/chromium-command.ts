import type { ScreenSize } from './desktop-spec';

/** An unused port. */
const NOWHERE = 'socks5://127.0.0.1:1';

const FEATURES_OFF = [
  'AimEnabled',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PreconnectToSearch',
  'Translate',
];

export interface PageCommand {
  chromium: string;
  address: string;
  profile: string;
  screen: ScreenSize;
  sandbox: boolean;
}

/** The command line of a browser with a single full-screen window, without prompts and without network access. */
export function chromiumCommand({ chromium, address, profile, screen, sandbox }: PageCommand): string[] {
  return [
    chromium,
    `--app=${address}`,
    '--kiosk',
    '--window-position=0,0',
    `--window-size=${screen.width},${screen.height}`,
    `--user-data-dir=${profile}`,
    '--remote-debugging-pipe',
    '--ozone-platform=x11',
    '--disable-gpu',
    '--disable-software-rasterizer',
    '--disable-dev-shm-usage',
    '--disable-background-networking',
    '--disable-background-timer-throttling',
    '--disable-backgrounding-occluded-windows',
    '--disable-breakpad',
    '--disable-component-extensions-with-background-pages',
    '--disable-component-update',
    '--disable-default-apps',
    '--disable-extensions',
    '--disable-hang-monitor',
    '--disable-infobars',
    '--disable-popup-blocking',
    '--disable-prompt-on-repost',
    '--disable-quic',
    '--disable-renderer-backgrounding',
    '--disable-search-engine-choice-screen',
    '--disable-session-crashed-bubble',
    '--disable-smooth-scrolling',
    '--disable-sync',
    '--force-color-profile=srgb',
    '--force-device-scale-factor=1',
    '--metrics-recording-only',
    '--mute-audio',
    '--no-default-browser-check',
    '--no-first-run',
    '--no-service-autorun',
    '--password-store=basic',
    '--use-mock-keychain',
    '--webrtc-ip-handling-policy=disable_non_proxied_udp',
    '--host-resolver-rules=MAP * ~NOTFOUND',
    `--proxy-server=${NOWHERE}`,
    '--proxy-bypass-list=<-loopback>',
    `--disable-features=${FEATURES_OFF.join(',')}`,
    // Pages are local files; without these flags, the browser would display a warning about the missing sandbox.
    ...(sandbox ? [] : ['--no-sandbox', '--test-type']),
  ];
}

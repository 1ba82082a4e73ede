import type { ScreenSize } from './desktop-spec';

/** Nothing listens there. */
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

/** The command line of a browser with one window that fills the screen, that asks nothing of anybody and reaches no network. */
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
    // A page comes from a local folder; without a sandbox, the browser would warn of it on the screen.
    ...(sandbox ? [] : ['--no-sandbox', '--test-type']),
  ];
}

/** Nothing listens there: where a connection has no other way, it ends. */
export const NOWHERE = 'socks5://127.0.0.1:1';

/** Features of a desktop browser that disturb automation, or ask servers of their own. */
const FEATURES_OFF = [
  'AimEnabled',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'ThirdPartyStoragePartitioning',
];

/**
 * What makes the next page of one person quicker and costs where many contexts take turns: a renderer kept ready is of one
 * context, so that every page of another one ends it and starts the next; and a frame made anew for each document of an origin.
 */
const PREPARATIONS_OFF = ['RenderDocument', 'SpareRendererForSitePerProcess'];

const FEATURES_ON = ['CDPScreenshotNewSurface', 'SkipListAccountsWithoutGaiaCookies'];

/** As Playwright starts Chromium, except that what protects a browser from its pages stays on. */
const AUTOMATION = [
  '--headless',
  '--no-startup-window',
  '--remote-debugging-pipe',
  '--allow-pre-commit-input',
  '--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4',
  '--disable-back-forward-cache',
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-breakpad',
  '--disable-component-extensions-with-background-pages',
  '--disable-default-apps',
  '--disable-extensions',
  '--disable-field-trial-config',
  '--disable-hang-monitor',
  '--disable-infobars',
  // What is drawn again in part can differ by a bit from what is drawn at once: the same seed has the same first frame after any history.
  '--disable-partial-raster',
  '--disable-popup-blocking',
  '--disable-prompt-on-repost',
  '--disable-renderer-backgrounding',
  '--disable-search-engine-choice-screen',
  '--disable-smooth-scrolling',
  '--disable-stack-profiler',
  '--enable-unsafe-swiftshader',
  '--force-color-profile=srgb',
  '--hide-scrollbars',
  '--metrics-recording-only',
  '--mute-audio',
  '--no-default-browser-check',
  '--no-first-run',
  '--no-service-autorun',
  '--overscroll-history-navigation=0',
  '--password-store=basic',
  '--unsafely-disable-devtools-self-xss-warnings',
  '--use-mock-keychain',
  `--disable-features=${[...FEATURES_OFF, ...PREPARATIONS_OFF].join(',')}`,
  `--enable-features=${FEATURES_ON.join(',')}`,
];

/** Each context says which way its connections go; the browser itself has none, and resolves no names. */
const CLOSED_NETWORK = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-quic',
  '--disable-sync',
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
  `--proxy-server=${NOWHERE}`,
  '--proxy-bypass-list=<-loopback>',
];

export interface ChromiumArguments {
  sandbox: boolean;
  /** Folder of the profile, which the browser makes. */
  profile: string;
  /** Of the JavaScript heap of each page, in MiB. */
  heapMb: number;
  /** Origins without TLS that count as secure, so that their pages may use what only secure pages may. */
  trustedOrigins: readonly string[];
  /** Whether `/dev/shm` has room; else shared memory lies in files of the temporary folder. */
  sharedMemory: boolean;
}

/** The command line of a browser that is driven over its pipes. */
export function chromiumArguments(options: ChromiumArguments): string[] {
  return [
    ...AUTOMATION,
    ...CLOSED_NETWORK,
    ...(options.sandbox ? [] : ['--no-sandbox']),
    ...(options.sharedMemory ? [] : ['--disable-dev-shm-usage']),
    `--js-flags=--max-old-space-size=${options.heapMb}`,
    `--unsafely-treat-insecure-origin-as-secure=${options.trustedOrigins.join(',')}`,
    `--user-data-dir=${options.profile}`,
  ];
}

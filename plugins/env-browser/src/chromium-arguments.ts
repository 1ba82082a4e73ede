/** An unused port: connections without another proxy fail here. */
export const NOWHERE = 'socks5://127.0.0.1:1';

/** Features of a desktop browser that disturb automation or send requests. */
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
 * Optimizations for one user that cost time when many contexts take turns: a spare renderer belongs to one context,
 * so every page of another context discards it and starts a new one; RenderDocument creates a new frame for each
 * same-origin document.
 */
const PREPARATIONS_OFF = ['RenderDocument', 'SpareRendererForSitePerProcess'];

const FEATURES_ON = ['CDPScreenshotNewSurface', 'SkipListAccountsWithoutGaiaCookies'];

/** Playwright's Chromium flags, except those that disable the browser's protection against pages. */
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
  // A partial redraw can differ by a bit from a full one; the same seed must give the same first frame after any
  // history.
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

/** Each context sets its own proxy; the browser itself has none and resolves no host names. */
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
  /** Profile folder, created by the browser. */
  profile: string;
  /** Maximum JavaScript heap of each page, in MiB. */
  heapMb: number;
  /** Origins without TLS that are treated as secure, so that their pages may use APIs limited to secure contexts. */
  trustedOrigins: readonly string[];
  /** Whether `/dev/shm` is large enough; otherwise shared memory uses files in the temporary folder. */
  sharedMemory: boolean;
}

/** The command line of a browser that is controlled over pipes. */
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

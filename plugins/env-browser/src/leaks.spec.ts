import { createSocket, type Socket } from 'node:dgram';
import { NetLog } from '../test/net-log';
import { Lab, WebServer } from '../test/support';

const BUTTON = 'style="position: fixed; left: 0; top: 0; width: 160px; height: 60px"';

/** Pages that try to reach the network, in a browser that logs its connections, datagrams and name lookups. */
describe('closed ways out of a hostile page', () => {
  let lab: Lab;
  let log: NetLog;
  let web: WebServer;
  let other: WebServer;
  let udp: Socket;
  const datagrams: string[] = [];

  beforeAll(async () => {
    web = await WebServer.start((request, response) => {
      const to = new URL(request.url ?? '', 'http://x').searchParams.get('to');
      if (to !== null) response.writeHead(302, { location: to }).end();
      else response.setHeader('content-type', 'text/html').end(`<title>${request.url}</title>`);
    });
    other = await WebServer.start((_request, response) => response.end('other'));
    udp = createSocket('udp4').on('message', (message) => datagrams.push(message.toString('hex')));
    await new Promise<void>((resolve) => udp.bind(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    await web.stop();
    await other.stop();
    udp.close();
  });
  beforeEach(() => {
    lab = new Lab();
    log = new NetLog();
    lab.programs.chromium = log.program();
    datagrams.length = web.asked.length = other.asked.length = 0;
  });
  afterEach(() => log.remove());

  /** The distinct endpoints the browser contacted, except the dead proxy of contexts without a gateway. */
  function departures(): string[] {
    const all = log.departures().map(({ kind, to }) => `${kind} ${to}`);
    return [...new Set(all)].filter((each) => each !== 'tcp 127.0.0.1:1');
  }

  const udpPort = () => udp.address().port;
  const port = (server: WebServer) => new URL(server.origin).port;

  it('WebRTC, workers, prefetch, preconnect, prerendering, beacons, sockets, names', async () => {
    const to = other.origin;
    const socket = to.replace('http', 'ws');
    lab.page(
      'p',
      `<head>
      <link rel="dns-prefetch" href="//looked-up.example">
      <link rel="preconnect" href="${to}">
      <link rel="preconnect" href="http://preconnected.example">
      <link rel="prefetch" href="${to}/prefetch">
      <link rel="modulepreload" href="${to}/module.js">
      <script type="speculationrules">
        {"prefetch": [{"source": "list", "urls": ["${to}/speculated"]}],
         "prerender": [{"source": "list", "urls": ["${to}/prerendered"]}]}
      </script></head><body><a ping="${to}/ping" href="#" ${BUTTON}>x</a><script>
      const tried = [];
      window.uirl = { state: () => ({ tried, candidates }) };
      const candidates = [];
      const attempt = (name, work) => Promise.resolve().then(work).catch(() => {}).finally(() => tried.push(name));
      const worker = (code) => URL.createObjectURL(new Blob([code], { type: 'text/javascript' }));
      const asks = (name) => "fetch('${to}/" + name + "', { mode: 'no-cors' }).catch(() => {}); new WebSocket('${socket}/" + name + "')";
      attempt('webrtc', async () => {
        const peer = new RTCPeerConnection({ iceServers: [
          { urls: 'stun:127.0.0.1:${udpPort()}' },
          { urls: 'stun:stun.example:3478' },
          { urls: 'turn:127.0.0.1:${port(other)}?transport=tcp', username: 'u', credential: 'c' },
          { urls: 'turn:127.0.0.1:${udpPort()}?transport=udp', username: 'u', credential: 'c' },
        ]});
        peer.onicecandidate = ({ candidate }) => candidate && candidates.push(candidate.candidate);
        peer.createDataChannel('x');
        await peer.setLocalDescription(await peer.createOffer());
      });
      attempt('worker', () => { new Worker(worker(asks('worker'))); });
      attempt('shared worker', () => { new SharedWorker(worker(asks('shared'))); });
      attempt('shared worker of the page', () => { new SharedWorker('/worker.js'); });
      attempt('service worker', () => navigator.serviceWorker.register('/worker.js'));
      attempt('beacon', () => { navigator.sendBeacon('${to}/beacon', 'x'); });
      attempt('web socket', () => { new WebSocket('${socket}/socket'); });
      attempt('keepalive', () => fetch('${to}/keepalive', { method: 'POST', keepalive: true, mode: 'no-cors', body: 'x' }));
      attempt('web transport', () => new WebTransport('https://127.0.0.1:${udpPort()}/x').ready);
      attempt('image', () => { new Image().src = 'https://named.example/x.png'; });
      </script>`,
      {
        'worker.js': `fetch('${to}/from-worker', { mode: 'no-cors' }); new WebSocket('${socket}/from-worker')`,
      },
    );
    await lab.start();
    const player = await lab.open({ page: 'p' });
    await player.act({ action: 'click', x: 20, y: 20 });
    await player.act({ action: 'wait', seconds: 2 });
    expect(await player.close()).toMatchObject({ tried: { length: 10 }, candidates: [] });
    await lab.stop();
    expect(log.departures().length).toBeGreaterThan(0);
    expect(departures()).toEqual([]);
    expect(datagrams).toEqual([]);
    expect(other.asked).toEqual([]);
  });

  it('the same from a page of the web: redirects, frames and sockets to other ports, names and schemes', async () => {
    const places = [
      other.origin,
      web.origin.replace('127.0.0.1', 'localhost'),
      'http://127.0.0.1',
      'http://169.254.169.254/latest/meta-data',
      'file:///etc/passwd',
      'chrome://version',
    ];
    lab.page(
      'p',
      `<body><script>
      let tried = 0;
      window.uirl = { state: () => ({ tried }) };
      const places = ${JSON.stringify(places)};
      for (const place of places) {
        const redirected = '${web.origin}/?to=' + encodeURIComponent(place);
        fetch(redirected, { mode: 'no-cors' }).catch(() => {}).finally(() => tried++);
        const frame = document.createElement('iframe');
        frame.src = redirected;
        document.body.append(frame);
        if (place.startsWith('http')) new WebSocket(place.replace('http', 'ws'));
      }
      </script>`,
    );
    const allowed = [web.origin, 'http://127.0.0.1'];
    await lab.start({ private_origins: allowed });
    const player = await lab.open({ page: 'p', allowed_origins: allowed });
    await player.act({ action: 'wait', seconds: 1 });
    expect(await player.close()).toEqual({ tried: places.length });
    expect(web.asked).toHaveLength(2 * places.length);
    await lab.stop();
    const gateway = departures();
    expect(gateway).toEqual([expect.stringMatching(/^tcp 127\.0\.0\.1:\d+$/)]);
    expect([web, other].map((server) => `tcp 127.0.0.1:${port(server)}`)).not.toContain(gateway[0]);
    expect(other.asked).toEqual([]);
  });
});

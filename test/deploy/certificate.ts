import { generateKeyPairSync, sign } from 'node:crypto';

const ECDSA_SHA256 = Buffer.from('06082a8648ce3d040302', 'hex');
const COMMON_NAME = Buffer.from('0603550403', 'hex');
const ALTERNATIVE_NAME = Buffer.from('0603551d11', 'hex');
const DAY_MS = 86_400_000;

/** One DER value (ITU-T X.690): tag, length and contents. */
function der(tag: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...contents: Buffer[]): Buffer => der(0x30, ...contents);
const bits = (content: Buffer): Buffer => der(0x03, Buffer.from([0]), content);

function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return der(0x18, Buffer.from(digits));
}

/**
 * A self-signed certificate (RFC 5280) for a server name, valid from yesterday to tomorrow, and its key; both as PEM.
 */
export function selfSigned(name: string): { certificate: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const algorithm = sequence(ECDSA_SHA256);
  const party = sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(name)))));
  const names = der(0x04, sequence(der(0x82, Buffer.from(name))));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    algorithm,
    party,
    sequence(time(Date.now() - DAY_MS), time(Date.now() + DAY_MS)),
    party,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(sequence(ALTERNATIVE_NAME, names))),
  );
  const certificate = sequence(body, algorithm, bits(sign('sha256', body, privateKey)));
  const lines = certificate.toString('base64').replaceAll(/.{64}/g, '$&\n').trimEnd();
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

import { compare, type CheckResult, type DownloadCheck } from '@ui-rl/plugin-kit';
import { result } from './check-result';
import { textOf, type Download } from './downloads';

/**
 * Whether one of the downloads with that name has the content; for a negative operator, whether there is one and all of
 * them do. The result names the downloads, and nothing of their content.
 */
export async function downloadResult(
  { name, value, operator = value === undefined ? 'exists' : 'equals' }: DownloadCheck,
  downloads: readonly Download[],
): Promise<CheckResult> {
  const found = downloads.filter((download) => compare('matches', download.name, name));
  const names = downloads.map((download) => download.name).join(', ');
  const said = names === '' ? 'no download' : names;
  if (operator === 'exists') return result(found.length > 0 === (value ?? true), said);
  const wanted = typeof value === 'string' ? value.replaceAll(/\r\n?/g, '\n') : value;
  const texts = await Promise.all(found.map(textOf));
  const hold = texts.map((text) => text !== null && compare(operator, text, wanted));
  const holds = operator.startsWith('not_') ? hold.length > 0 && hold.every(Boolean) : hold.some(Boolean);
  return result(holds, texts.includes(null) ? `${said}; not all of them are text in UTF-8` : said);
}

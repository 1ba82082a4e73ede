import type { JudgedEpisode } from '@ui-rl/records';
import { render } from 'preact';
import { useState } from 'preact/compat';
import { screenshotUrl } from './api';
import { EpisodeReport, REPORT_STYLE, type ReportImage } from './episode-report';
import { Problem } from './ui';

/** Saves the episode as JSON, its screenshots, or a page that needs nothing else. */
export function Downloads({ episode }: { episode: JudgedEpisode }) {
  const [error, setError] = useState<string | null>(null);
  const save = (make: () => Promise<void>) => () => {
    setError(null);
    make().catch((problem: Error) => setError(problem.message));
  };
  return (
    <div className="controls" role="group" aria-label="Download">
      <span className="muted">Download</span>
      <button type="button" onClick={save(() => saveJson(episode))}>
        JSON
      </button>
      <button type="button" onClick={save(() => savePngs(episode))}>
        PNGs
      </button>
      <button type="button" onClick={save(() => saveHtml(episode))}>
        HTML
      </button>
      <Problem error={error} />
    </div>
  );
}

async function saveJson(episode: JudgedEpisode): Promise<void> {
  offer(
    new Blob([JSON.stringify(episode, null, 2)], { type: 'application/json' }),
    `${nameOf(episode)}.json`,
  );
}

async function savePngs(episode: JudgedEpisode): Promise<void> {
  for (const [index, hash] of hashesOf(episode).entries())
    offer(await pngOf(episode, hash), `${nameOf(episode)}-${String(index + 1).padStart(3, '0')}.png`);
}

async function saveHtml(episode: JudgedEpisode): Promise<void> {
  const hashes = [...new Set(hashesOf(episode))];
  const images = await Promise.all(hashes.map((hash) => pngOf(episode, hash).then(imageOf)));
  const shown = new Map(hashes.map((hash, index) => [hash, images[index]]));
  const host = document.createElement('div');
  render(<EpisodeReport episode={episode} images={shown} />, host);
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${text(episode.description)}</title><style>${REPORT_STYLE}</style>`;
  const html = `<!doctype html><html lang="en"><head>${head}</head><body>${host.innerHTML}</body></html>\n`;
  render(null, host);
  offer(new Blob([html], { type: 'text/html' }), `${nameOf(episode)}.html`);
}

/** Of every turn, then of the end. */
function hashesOf({ turns, finalScreenshot }: JudgedEpisode): string[] {
  return [
    ...turns.map(({ screenshot }) => screenshot),
    ...(finalScreenshot === null ? [] : [finalScreenshot]),
  ];
}

async function pngOf({ runId }: JudgedEpisode, hash: string): Promise<Blob> {
  const response = await fetch(screenshotUrl(runId, hash));
  if (!response.ok) throw new Error(`The screenshot ${hash.slice(0, 12)} was deleted from the broker.`);
  return response.blob();
}

async function imageOf(png: Blob): Promise<ReportImage> {
  const { width, height } = await createImageBitmap(png);
  const url = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(reader.result as string));
    reader.addEventListener('error', () =>
      reject(reader.error ?? new Error('The screenshot cannot be read.')),
    );
    reader.readAsDataURL(png);
  });
  return { url, width, height };
}

function offer(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // The browser reads the blob after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Ids of rollouts may contain anything. */
function nameOf({ id }: JudgedEpisode): string {
  return id.replaceAll(/[^\w.-]+/g, '_').slice(0, 120);
}

function text(words: string): string {
  return words.replaceAll(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}

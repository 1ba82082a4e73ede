import pixelmatch from 'pixelmatch';
import { useEffect, useRef, useState } from 'preact/compat';
import { percent } from './format';

/** Colour difference from which a pixel counts, 0 to 1; smoothed edges do not count. */
const THRESHOLD = 0.1;
/** Of `--mark` in the style sheet. */
const MARK: [number, number, number] = [255, 45, 122];

/** Marks the pixels in which a screenshot differs from another one, and says how many they are. */
export function FrameDifference({ url, other }: { url: string; other: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [said, say] = useState('');
  useEffect(() => {
    let isShown = true;
    const compare = async () => {
      const [a, b] = await Promise.all([pixelsOf(url), pixelsOf(other)]);
      if (isShown && canvas.current !== null) say(mark(canvas.current, a, b));
    };
    compare().catch(() => isShown && say('The other screenshot was deleted.'));
    return () => {
      isShown = false;
    };
  }, [url, other]);
  return (
    <>
      <canvas ref={canvas} className="difference" aria-hidden="true" />
      <span className="said" role="status">
        {said}
      </span>
    </>
  );
}

async function pixelsOf(url: string): Promise<ImageData> {
  const image = new Image();
  image.src = url;
  await image.decode();
  const { naturalWidth: width, naturalHeight: height } = image;
  const context = new OffscreenCanvas(width, height).getContext('2d')!;
  context.drawImage(image, 0, 0);
  return context.getImageData(0, 0, width, height);
}

function mark(canvas: HTMLCanvasElement, a: ImageData, b: ImageData): string {
  const { width, height } = a;
  canvas.width = width;
  canvas.height = height;
  if (b.width !== width || b.height !== height) {
    return `Different sizes: ${width} × ${height} and ${b.width} × ${b.height}`;
  }
  const marks = new ImageData(width, height);
  const options = { threshold: THRESHOLD, diffMask: true, diffColor: MARK };
  const differing = pixelmatch(a.data, b.data, marks.data, width, height, options);
  canvas.getContext('2d')!.putImageData(marks, 0, 0);
  if (differing === 0) return 'No pixel differs';
  return `${percent(differing / (width * height), 1)} of the pixels differ`;
}

import { useState } from 'preact/compat';
import { ActionOverlay } from './action-overlay';
import { screenshotUrl } from './api';
import { FrameDifference } from './frame-difference';

export interface ScreenProps {
  run: string;
  hash: string;
  actions: Record<string, unknown>[];
  /** CSS pixels per pixel of the screenshot; `fit`: as large as its place allows. */
  scale: number | 'fit';
  /** Address of a screenshot whose differences to this one are marked. */
  comparedTo?: string | undefined;
}

interface Size {
  width: number;
  height: number;
}

/** A screenshot with the actions that were decided on it. */
export function Screen({ run, hash, actions, scale, comparedTo }: ScreenProps) {
  const [loaded, setLoaded] = useState<Size & { hash: string }>();
  const [missing, setMissing] = useState<string>();
  if (missing === hash) return <div className="screen missing">The screenshot was deleted.</div>;
  const size = loaded?.hash === hash ? loaded : undefined;
  const width = scale === 'fit' || loaded === undefined ? undefined : loaded.width * scale;
  return (
    <div
      className={`screen ${scale === 'fit' ? 'fit' : 'scaled'} ${loaded !== undefined && loaded.width <= 400 ? 'small' : ''}`}
      style={width === undefined ? {} : { width }}
    >
      <img
        src={screenshotUrl(run, hash)}
        alt="Screenshot"
        onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) =>
          setLoaded({ hash, width: naturalWidth, height: naturalHeight })
        }
        onError={() => setMissing(hash)}
      />
      {comparedTo !== undefined && <FrameDifference url={screenshotUrl(run, hash)} other={comparedTo} />}
      {size !== undefined && actions.length > 0 && <ActionOverlay actions={actions} size={size} />}
    </div>
  );
}

import type { ReactNode } from 'preact/compat';

export type Tone = 'good' | 'bad' | 'warn' | 'info' | 'plain';

export function Badge({
  tone = 'plain',
  title,
  children,
}: {
  tone?: Tone;
  title?: string;
  children: ReactNode;
}) {
  return (
    <span className={`badge ${tone}`} title={title}>
      {children}
    </span>
  );
}

export function Card({
  title,
  aside,
  children,
}: {
  title?: ReactNode;
  aside?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section className="card">
      {title !== undefined && (
        <header>
          <h2>{title}</h2>
          {aside}
        </header>
      )}
      {children}
    </section>
  );
}

export function Stat({
  label,
  value,
  note,
  tone,
}: {
  label: string;
  value: ReactNode;
  note?: ReactNode;
  tone?: Tone;
}) {
  return (
    <div className={`stat ${tone ?? ''}`}>
      <span className="label">{label}</span>
      <span className="value">{value}</span>
      <span className="note">{note}</span>
    </div>
  );
}

/** Focuses an element when it appears, as its `ref`. */
export function focused(element: HTMLElement | null): void {
  element?.focus();
}

export function Empty({ children }: { children: ReactNode }) {
  return <p className="empty">{children}</p>;
}

export function Problem({ error }: { error: string | null }) {
  return error === null ? null : <p className="problem">{error}</p>;
}

const PHASE_TONES: Record<string, Tone> = {
  baseline: 'info',
  training: 'info',
  final_eval: 'info',
  finished: 'good',
  failed: 'bad',
  stopped: 'warn',
};

export function Phase({ phase, reason }: { phase: string | null; reason?: string | null }) {
  if (phase === null) return <Badge>no phase</Badge>;
  return (
    <Badge tone={PHASE_TONES[phase]} title={reason ?? undefined}>
      {phase.replace('_', ' ')}
    </Badge>
  );
}

export function Result({ status, success }: { status: string; success: boolean | null }) {
  if (status === 'invalid') return <Badge tone="warn">invalid</Badge>;
  if (success === null) return <Badge>not judged</Badge>;
  return success ? <Badge tone="good">success</Badge> : <Badge tone="bad">failure</Badge>;
}

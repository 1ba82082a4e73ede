import { holds, PYTORCH_VARIANTS, VARIANTS, type Line, type MeasuredVariant, type Variant } from './lines';

type Of<Kind extends Line['kind']> = Extract<Line, { kind: Kind }>;

const NAMES = Object.keys(VARIANTS) as Variant[];

/** The results of a run, as Markdown. */
export function report(lines: readonly Line[]): string {
  const of = <Kind extends Line['kind']>(kind: Kind): Of<Kind>[] =>
    lines.filter((line): line is Of<Kind> => line.kind === kind);
  const sections = [
    facts(of('fact')),
    checks(of('check')),
    figures(of('figure')),
    shares(of('shares')),
    failures(of('failure')),
  ];
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`;
}

/** Whether everything finished and every check passed. */
export function isWell(lines: readonly Line[]): boolean {
  return lines.every((line) => line.kind !== 'failure' && (line.kind !== 'check' || holds(line)));
}

function facts(lines: readonly Of<'fact'>[]): string {
  return lines.map(({ name, value }) => `- ${name}: ${value.replaceAll('\n', ' ')}`).join('\n');
}

function checks(lines: readonly Of<'check'>[]): string {
  if (lines.length === 0) return '';
  const rows = lines.map((line) => [
    line.name,
    line.variant,
    line.gap.toExponential(1),
    line.tolerance.toExponential(0),
    line.wrong ?? (holds(line) ? 'holds' : '**does not hold**'),
  ]);
  return table(['check', 'on', 'largest difference', 'allowed', ''], rows);
}

/** A row for each measurement, a column for each variant, and the ratio of the best other value to the CPU's. */
function figures(lines: readonly Of<'figure'>[]): string {
  if (lines.length === 0) return '';
  const pytorch = PYTORCH_VARIANTS.filter((name) => lines.some(({ variant }) => variant === name));
  const columns = [...NAMES, ...pytorch];
  const rows = new Map<string, Partial<Record<MeasuredVariant, number>>>();
  for (const { model, what, unit, variant, value } of lines) {
    const key = JSON.stringify([model, what, unit]);
    rows.set(key, { ...rows.get(key), [variant]: value });
  }
  const cells = [...rows].map(([key, values]) => [
    ...(JSON.parse(key) as string[]),
    ...columns.map((name) => (values[name] === undefined ? '—' : rounded(values[name]))),
    ratios(values),
  ]);
  return table(['model', 'what', 'unit', ...columns, 'GPU / CPU'], cells);
}

/** The ratios of each GPU variant, in order. */
function ratios({ cpu, ...others }: Partial<Record<Variant, number>>): string {
  if (cpu === undefined || cpu === 0) return '—';
  const found = NAMES.flatMap((name) => {
    const value = (others as Partial<Record<Variant, number>>)[name];
    return value === undefined ? [] : [rounded(value / cpu)];
  });
  return found.length === 0 ? '—' : found.join(', ');
}

function shares(lines: readonly Of<'shares'>[]): string {
  if (lines.length === 0) return '';
  const rows = lines.map(({ model, variant, what, unit, shares: parts }) => [
    model,
    variant,
    what,
    Object.entries(parts)
      .toSorted(([, a], [, b]) => b - a)
      .map(([name, value]) => `${name} ${rounded(value)}`)
      .join(', '),
    unit,
  ]);
  return table(['model', 'on', 'where time goes', 'parts', 'unit'], rows);
}

function failures(lines: readonly Of<'failure'>[]): string {
  return lines
    .map(({ part, reason }) => `- **not finished**: ${part}: ${reason.replaceAll('\n', ' ')}`)
    .join('\n');
}

/** Three digits, without exponent. */
export function rounded(value: number): string {
  if (value === 0) return '0';
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(digits, 6));
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

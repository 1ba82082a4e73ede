import { readFileSync } from 'node:fs';
import { assets } from './assets';
import { pruneCss } from './prune-css';

/** Tags of controls for which kits have classes. */
type Dressed = 'button' | 'input' | 'select' | 'textarea' | 'table' | 'check';

/** A stylesheet package for plain HTML. */
export interface Kit {
  /** Name of the package. */
  name: string;
  /** Its file within the package. */
  file: string;
  isDark?: boolean;
  /** Classes that it requires on controls; most kits need none. */
  classes?: Partial<Record<Dressed, string>>;
  /**
   * Whether it draws checkboxes and radios beside the control, which needs markup that generated pages do not have.
   */
  hidesChecks?: boolean;
}

export const KITS: readonly Kit[] = [
  { name: 'water.css', file: 'out/light.min.css' },
  { name: 'water.css', file: 'out/dark.min.css', isDark: true },
  { name: 'sakura.css', file: 'css/sakura.css' },
  { name: 'sakura.css', file: 'css/sakura-dark.css', isDark: true },
  { name: 'mvp.css', file: 'mvp.css' },
  { name: 'simpledotcss', file: 'simple.min.css' },
  { name: 'milligram', file: 'dist/milligram.min.css' },
  {
    name: 'spectre.css',
    file: 'dist/spectre.min.css',
    classes: {
      button: 'btn btn-primary',
      input: 'form-input',
      select: 'form-select',
      textarea: 'form-input',
      table: 'table',
    },
  },
  { name: 'purecss', file: 'build/pure-min.css', classes: { button: 'pure-button', table: 'pure-table' } },
  {
    name: 'bootstrap',
    file: 'dist/css/bootstrap.min.css',
    classes: {
      ...{
        button: 'btn btn-primary btn-sm',
        input: 'form-control form-control-sm',
        select: 'form-select form-select-sm',
      },
      ...{ textarea: 'form-control form-control-sm', table: 'table table-sm', check: 'form-check-input' },
    },
  },
  {
    name: 'bootstrap',
    file: 'dist/css/bootstrap.min.css',
    classes: {
      ...{ button: 'btn btn-outline-secondary btn-sm', input: 'form-control', select: 'form-select' },
      ...{ textarea: 'form-control', table: 'table table-striped', check: 'form-check-input' },
    },
  },
  { name: '@exampledev/new.css', file: 'new.css' },
  { name: 'chota', file: 'dist/chota.min.css', classes: { button: 'button' } },
  { name: 'tacit-css', file: 'dist/tacit-css.min.css' },
  { name: '98.css', file: 'dist/98.css', hidesChecks: true },
  { name: '7.css', file: 'dist/7.css', hidesChecks: true },
  {
    name: 'nes.css',
    file: 'css/nes-core.min.css',
    classes: { button: 'nes-btn', input: 'nes-input', textarea: 'nes-textarea' },
  },
  { name: 'picnic', file: 'picnic.min.css', hidesChecks: true },
  { name: 'papercss', file: 'dist/paper.min.css' },
  { name: 'terminal.css', file: 'dist/terminal.min.css', classes: { button: 'btn btn-default' } },
  { name: 'marx-css', file: 'css/marx.min.css' },
];

/** The installed kits. */
export function installedKits(): Kit[] {
  return KITS.filter(({ name }) => assets().kitFolders.has(name));
}

/** Pages of this seed and above are for evaluation: they use reserved kits, which no page of a lower seed has. */
export const FIRST_HELD_OUT_SEED = 2 ** 30;
const HELD_OUT = ['nes.css', 'papercss', 'sakura.css', 'simpledotcss', '@exampledev/new.css'];

/** The kits available to the page of a seed. */
export function kitsFor(seed: number): Kit[] {
  return installedKits().filter(({ name }) => HELD_OUT.includes(name) === seed >= FIRST_HELD_OUT_SEED);
}

/** The path at which pages load a kit. */
export function kitPath({ name, file }: Kit): string {
  return `/kits/${name}/${file}`;
}

/** The stylesheet at such a path, without external resources; undefined if there is none. */
export function kitStylesheet(path: string): string | undefined {
  const kit = installedKits().find((each) => kitPath(each) === path);
  if (kit === undefined) return undefined;
  const text = readFileSync(`${assets().kitFolders.get(kit.name)}/${kit.file}`, 'utf8');
  const classes = KITS.filter(({ name }) => name === kit.name).flatMap((each) =>
    Object.values(each.classes ?? {}),
  );
  return pruneCss(text, new Set(classes.flatMap((each) => each.split(' ')))).replace(
    /url\((?!["']?data:)[^)]*\)/g,
    'none',
  );
}

/** Adds the classes of a kit to the controls in a page body. */
export function dress(html: string, { classes = {} }: Kit): string {
  const { button, input, select, textarea, table, check } = classes;
  let dressed = html;
  if (button !== undefined) dressed = dressed.replaceAll('<button ', `<button class="${button}" `);
  if (input !== undefined) dressed = dressed.replaceAll('<input class="f"', `<input class="f ${input}"`);
  if (select !== undefined) dressed = dressed.replaceAll('<select ', `<select class="${select}" `);
  if (textarea !== undefined) dressed = dressed.replaceAll('<textarea ', `<textarea class="${textarea}" `);
  if (table !== undefined) dressed = dressed.replaceAll('<table class="', `<table class="${table} `);
  if (check !== undefined)
    dressed = dressed.replace(
      /<input type="(checkbox|radio)" (?!name="\w*" class)/g,
      `<input type="$1" class="${check}" `,
    );
  return dressed;
}

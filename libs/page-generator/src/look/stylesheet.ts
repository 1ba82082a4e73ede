import { css, mix, readable } from './colors';
import { fontFaces } from './fonts';
import { themeProperties, type ButtonLook, type FieldLook, type Theme } from './theme';

const BUTTONS: Readonly<Record<ButtonLook, string>> = {
  native: '',
  filled: 'background:var(--ac);color:var(--oa);border:var(--bw) solid var(--ac);',
  outline: 'background:transparent;color:var(--ac);border:var(--bw) solid var(--ac);',
  flat: 'background:transparent;color:var(--ac);border:0;font-weight:700;',
  raised:
    'background:linear-gradient(var(--bg),var(--sf));color:var(--fg);border:1px solid var(--bd);box-shadow:0 1px 2px var(--bd);',
  soft: 'background:var(--sf);color:var(--fg);border:1px solid var(--bd);',
};

const FIELDS: Readonly<Record<FieldLook, string>> = {
  native: '',
  box: 'background:var(--bg);color:var(--fg);border:var(--bw) solid var(--bd);',
  underline:
    'background:transparent;color:var(--fg);border:0;border-bottom:var(--bw) solid var(--fg);border-radius:0;',
  filled: 'background:var(--sf);color:var(--fg);border:0;border-bottom:2px solid var(--ac);',
  inset: 'background:var(--bg);color:var(--fg);border:2px inset var(--bd);',
};

function buttonRules(theme: Theme): string {
  const own = BUTTONS[theme.buttons];
  const pad = theme.size < 13 ? '2px 6px' : '3px 8px';
  return own === ''
    ? 'button{font:inherit;}'
    : `button{font:inherit;border-radius:var(--r);padding:${pad};${own}}button:disabled{opacity:.5}`;
}

function fieldRules(theme: Theme): string {
  const own = FIELDS[theme.fields];
  const text = 'input.f,textarea,select';
  const placeholder = css(readable(mix(theme.text, theme.background, 0.45), theme.surface, 2.6));
  return own === ''
    ? `${text}{font:inherit}`
    : `${text}{font:inherit;padding:2px 4px;border-radius:min(var(--r),6px);${own}}::placeholder{color:${placeholder};opacity:1}`;
}

/** Custom-drawn checkboxes and radios. */
function checkRules(theme: Theme): string {
  if (theme.nativeControls) return `input{accent-color:${theme.buttons === 'native' ? 'auto' : 'var(--ac)'}}`;
  return `input[type=checkbox]:not(.tg),input[type=radio]{appearance:none;width:1em;height:1em;min-width:10px;min-height:10px;margin:0 2px 0 0;border:1px solid var(--mu);background:var(--bg);vertical-align:-2px;border-radius:min(var(--r),3px)}
input[type=radio]{border-radius:50%}
input[type=checkbox]:checked:not(.tg){background:var(--ac) url("data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 12 12'%3E%3Cpath d='M2 6l3 3 5-6' fill='none' stroke='${encodeURIComponent(css(theme.onAccent))}' stroke-width='2'/%3E%3C/svg%3E") center/contain;border-color:var(--ac)}
input[type=radio]:checked{border-color:var(--ac);background:radial-gradient(var(--ac) 45%,var(--bg) 50%)}
input[type=range]{appearance:none;height:6px;border-radius:3px;background:var(--bd)}
input[type=range]::-webkit-slider-thumb{appearance:none;width:14px;height:14px;border-radius:min(var(--r),50%);background:var(--ac)}`;
}

/** Rules added to a kit: the size of the page, and controls that the kit would hide. */
function kitRules({ size, lineHeight, padding, kit }: Theme): string {
  const checks = 'input[type=checkbox]:not(.tg),input[type=radio]';
  const shown =
    kit?.hidesChecks === true
      ? `${checks}{appearance:auto!important;opacity:1!important;position:static!important;width:auto!important;height:auto!important;margin:0 3px 0 0!important}label::before,label::after,input+span::before{display:none!important}`
      : '';
  return `html{font-size:${size}px!important}
body{margin:0!important;max-width:none!important;width:auto!important;min-width:0!important;padding:${padding}px!important;font-size:${size}px!important;line-height:${lineHeight}!important;display:block!important}
p,h1,h2,h3,ul,ol,table,form,label{margin-top:0!important;margin-bottom:0!important}input,select,textarea,button{margin-top:1px!important;margin-bottom:1px!important;max-width:100%;min-width:0!important}
h1{font-size:${Math.min(20, size * 1.35)}px!important}h2{font-size:${Math.min(20, size * 1.15)}px!important}h3{font-size:${size}px!important}label{font-weight:inherit}
input[type=search]{appearance:none}select[size]{height:auto}
${shown}`;
}

/** Rules for headings, links and controls of a page without a kit. */
function ownRules(theme: Theme): string {
  const { headingFont, size } = theme;
  return `h1,h2,h3{margin:0;font:${theme.headingWeight} 1.2em/1.2 ${headingFont.family};text-transform:${theme.headingTransform}}
h1{font-size:${Math.min(20, size * 1.35)}px}h2{font-size:${Math.min(20, size * 1.15)}px}h3{font-size:1em}
a{color:var(--ac);text-decoration:${theme.linkUnderline ? 'underline' : 'none'}}
table{border-collapse:collapse}td,th{padding:1px 4px;text-align:left;vertical-align:top}
${buttonRules(theme)}
${fieldRules(theme)}
${checkRules(theme)}`;
}

/** The stylesheet of a page. */
export function stylesheet(theme: Theme): string {
  const { font, headingFont, size, kit } = theme;
  const shadow = theme.shadow ? 'box-shadow:0 1px 4px #0004;' : '';
  return `${fontFaces([font, headingFont])}
:root{${themeProperties(theme)}}
*,*::before,*::after{box-sizing:border-box;animation:none!important;transition:none!important}
html{background:var(--bg);height:100%}
body{margin:0;height:100%;overflow:hidden auto;padding:${theme.padding}px;background:var(--bg);color:var(--fg);${kit === undefined ? `font:${size}px/${theme.lineHeight} ${font.family};` : ''}position:relative}
p{margin:0}.mu{color:var(--mu)}.sm{font-size:max(9px,.85em)}
.c{display:flex;flex-direction:column;gap:var(--g);align-items:flex-start}
.rw{display:flex;flex-wrap:wrap;gap:var(--g);align-items:center}
.rw.nw{flex-wrap:nowrap}.fill{width:100%}.sb{justify-content:space-between}
.card{background:var(--sf);border:1px solid var(--bd);border-radius:var(--r);padding:4px 6px;${shadow}}
ul,ol{margin:0;padding-left:1.5em}ul.pl{padding:0;list-style:none}
table.bd td,table.bd th{border:1px solid var(--bd)}table.ln tr{border-bottom:1px solid var(--bd)}
${theme.stripes ? 'tr:nth-child(even) td{background:var(--sf)}' : ''}
.tabs{display:flex;border-bottom:1px solid var(--bd)}.tabs>*{padding:2px 6px;cursor:pointer;white-space:nowrap;border:1px solid transparent}
.tabs.t0>[aria-selected=true]{border-color:var(--bd);border-bottom-color:var(--bg);background:var(--sf)}
.tabs.t1>[aria-selected=true]{border-bottom:2px solid var(--ac);color:var(--ac)}
.tabs.t2>[aria-selected=true]{background:var(--ac);color:var(--oa);border-radius:var(--r) var(--r) 0 0}
.tg.tg.tg{appearance:none;width:26px!important;height:14px;border-radius:7px;background:var(--bd);position:relative;margin:0 4px 0 0;vertical-align:middle;flex:none}
.tg.tg.tg::after{display:block!important;content:"";position:absolute;left:2px;top:2px;width:10px;height:10px;border-radius:50%;background:var(--bg)}
.tg.tg.tg:checked{background:var(--ac)}.tg.tg.tg:checked::after{left:14px}
.menu{background:var(--sf);border:1px solid var(--bd);border-radius:min(var(--r),6px);${shadow}}.menu>*{display:block;padding:1px 8px;white-space:nowrap}
.drop{position:absolute;top:100%;z-index:20;background:var(--bg)}.mb{padding:0 2px;cursor:pointer}
.hot,.sel,li[aria-selected=true],.cell[aria-selected=true]{background:var(--ac);color:var(--oa)}
[hidden]{display:none!important}
.tw{display:inline-block;width:1.1em}.tw>*{font-style:normal}[aria-expanded=true]>.tw>.shut,[aria-expanded=false]>.tw>.open{display:none}
.acc{background:var(--sf);border:1px solid var(--bd);padding:2px 5px;margin-bottom:1px;cursor:pointer;border-radius:min(var(--r),4px)}
.scroll{overflow:auto;border:1px solid var(--bd);padding:3px;position:relative}
.cell{border:1px solid var(--bd);display:grid;place-items:center;line-height:1;cursor:pointer;overflow:hidden}
.drag{display:inline-block;border:1px solid var(--mu);background:var(--sf);padding:1px 5px;cursor:move;border-radius:min(var(--r),6px);user-select:none}.held{z-index:30;position:relative;opacity:.8}
.dropt{flex:1;border:2px dashed var(--mu);padding:2px 4px;min-width:40px}
.track{display:inline-block;position:relative;height:14px;cursor:pointer}.track::before{content:"";position:absolute;inset:4px 0;border-radius:3px;background:var(--bd)}
.track>*{position:absolute;top:0;width:14px;height:14px;margin-left:-7px;background:var(--ac);border-radius:min(var(--r),50%);border:1px solid var(--bd)}
.pop{position:fixed;z-index:50;overflow:hidden auto;border:1px solid #767676;background:#fff;color:#000;line-height:1.2}.pop>*{padding:1px 4px;white-space:nowrap;cursor:default}
.pop.system>.hot{background:#1967d2;color:#fff}.pop.own{background:var(--bg);color:var(--fg);border-color:var(--bd);border-radius:min(var(--r),6px)}
.pop.suggest{position:absolute;background:var(--bg);color:var(--fg);border-color:var(--bd)}
.under{position:absolute;top:100%;left:0;z-index:25}
.cal{z-index:25;background:var(--bg);border:1px solid var(--bd);padding:2px 3px;line-height:1.6}.days{display:grid;grid-template-columns:repeat(7,1fr);text-align:center}.days>[data-day]{cursor:pointer}
.shade{position:fixed;inset:0;z-index:40;display:flex;justify-content:center;padding:8px}
.dlg{background:var(--bg);border:1px solid var(--bd);border-radius:var(--r);padding:6px 8px;max-height:100%;overflow:hidden;box-shadow:0 2px 8px #0006;align-items:stretch}
[data-shows]{cursor:pointer}.mrow{border-bottom:1px solid var(--bd);padding:2px 3px}.mrow.rw,.scenebar.rw{gap:3px}.grow{flex:1;min-width:0;overflow:hidden}
.scenebar{background:var(--sf);border-bottom:1px solid var(--bd);padding:2px 4px;overflow:hidden}
.bubble{max-width:80%;padding:2px 6px;border-radius:min(var(--r),10px);overflow-wrap:anywhere}
.view{position:fixed;inset:0;z-index:35;background:var(--bg);padding:5px;overflow:hidden}
[data-turn],.pg{cursor:pointer;color:var(--ac);padding:0 4px}.pg[aria-selected=true]{background:var(--ac);color:var(--oa)}
.edit{border:1px solid var(--bd);padding:4px;width:100%;min-height:40px;overflow-wrap:anywhere}
.ib[aria-pressed=true]{color:var(--ac)}button[aria-pressed=true]{box-shadow:inset 0 0 0 2px var(--fg)}
.bar{display:flex;gap:8px;background:var(--sf);padding:2px 4px;border-bottom:1px solid var(--bd)}
.arrow.arrow{padding:0 3px!important;font-size:8px!important;line-height:1.1!important;min-height:0!important;height:auto!important;margin:0!important;min-width:0}.ib{display:inline-flex;padding:3px;border:0;background:transparent;color:inherit;border-radius:var(--r);vertical-align:middle}
.ib.b{border:1px solid var(--bd);background:var(--sf)}
.abs{position:absolute}.nb{white-space:nowrap}svg{display:block;flex:none}
label{cursor:pointer}::-webkit-search-cancel-button{display:none}
${theme.kit === undefined ? ownRules(theme) : kitRules(theme)}`;
}

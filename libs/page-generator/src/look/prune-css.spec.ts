import { pruneCss } from './prune-css';

it('keeps rules for tags and for the classes of a page', () => {
  const css = `@charset "utf-8"; @import url(x.css); /* a { } */ button, .btn { color: red } .card .btn { color: blue }
    @media (min-width: 10px) { .card { top: 0 } input { left: 0 } } @media print { p { top: 0 } } @font-face { src: url(y) } @keyframes k { from { top: 0 } }
    input:not(.plain):focus { top: 1px }`;
  expect(pruneCss(css, new Set(['btn']))).toBe(
    'button,.btn{ color: red }@media (min-width: 10px){input{ left: 0 }}input:not(.plain):focus{ top: 1px }',
  );
});

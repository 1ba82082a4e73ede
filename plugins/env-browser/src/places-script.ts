/**
 * Runs in an isolated world: a function of nodes that returns for each the point at which an action would hit it, in
 * CSS pixels of the document's viewport, or null if it is hidden or covered.
 */
export const PLACES = `function (...nodes) {
  const width = innerWidth, height = innerHeight;
  const rectsOf = (node) => {
    const own = node instanceof Element ? [...node.getClientRects()] : [];
    if (own.some((rect) => rect.width > 0 && rect.height > 0)) return own;
    const range = document.createRange();
    range.selectNodeContents(node);
    return [...range.getClientRects()];
  };
  const shown = (rect) => {
    const left = Math.max(rect.left, 0), top = Math.max(rect.top, 0);
    const right = Math.min(rect.right, width), bottom = Math.min(rect.bottom, height);
    return right - left < 1 || bottom - top < 1 ? null : { left, top, right, bottom };
  };
  const area = ({ left, top, right, bottom }) => (right - left) * (bottom - top);
  const hitAt = (x, y) => {
    let hit = document.elementFromPoint(x, y);
    for (let inner = hit; inner !== null && inner.shadowRoot !== null; ) {
      inner = inner.shadowRoot.elementFromPoint(x, y);
      if (inner === null || inner === hit) break;
      hit = inner;
    }
    return hit;
  };
  const around = (node) => node.parentNode ?? node.host ?? null;
  const isIn = (node, outer) => {
    for (let each = node; each !== null && each !== undefined; each = around(each)) if (each === outer) return true;
    return false;
  };
  /** Of a closed shadow only its host is ever hit. */
  const isHit = (node, hit) => {
    if (hit === null) return false;
    if (isIn(hit, node)) return true;
    const root = node.getRootNode();
    return root !== document && root.host !== undefined && isIn(hit, root.host) && root.host.shadowRoot === null;
  };
  const placeOf = (node, target) => {
    let best = null;
    for (const rect of rectsOf(node)) {
      const part = shown(rect);
      if (part !== null && (best === null || area(part) > area(best))) best = part;
    }
    if (best === null) return null;
    const x = (best.left + best.right) / 2, y = (best.top + best.bottom) / 2;
    return isHit(target, hitAt(x, y)) ? [x, y] : null;
  };
  return nodes.map((node) => {
    if (node instanceof Document) return null;
    if (!(node instanceof Element)) return node.parentElement === null ? null : placeOf(node, node.parentElement);
    const own = placeOf(node, node);
    if (own !== null || !('labels' in node) || node.labels === null) return own;
    for (const label of node.labels) {
      const place = placeOf(label, label);
      if (place !== null) return place;
    }
    return null;
  });
}`;

/** The same for points in the viewport of a frame: converts them to the enclosing viewport, or null. */
export const THROUGH_FRAME = `function (points) {
  const frame = this, box = frame.getBoundingClientRect(), style = getComputedStyle(frame);
  const scaleX = frame.offsetWidth > 0 ? box.width / frame.offsetWidth : 1;
  const scaleY = frame.offsetHeight > 0 ? box.height / frame.offsetHeight : 1;
  const left = box.left + (frame.clientLeft + parseFloat(style.paddingLeft)) * scaleX;
  const top = box.top + (frame.clientTop + parseFloat(style.paddingTop)) * scaleY;
  return points.map((point) => {
    if (point === null) return null;
    const x = left + point[0] * scaleX, y = top + point[1] * scaleY;
    let hit = document.elementFromPoint(x, y);
    for (; hit !== null && hit.shadowRoot !== null; ) {
      const inner = hit.shadowRoot.elementFromPoint(x, y);
      if (inner === null || inner === hit) break;
      hit = inner;
    }
    return hit === frame ? [x, y] : null;
  });
}`;

// What cannot be read in full on this page: a list of sentences, empty when all is well.
// A text may end in an ellipsis where the whole of it is in a tooltip; it may lie outside of what scrolls. It may not be cut off
// by an edge, and nothing lies outside the window.
() => {
  const found = new Set();
  const name = (element) => element.closest('[data-testid]')?.dataset.testid ?? element.tagName.toLowerCase();
  const say = (element, text, why) => found.add(`${name(element)}: “${text.slice(0, 60)}” ${why}`);
  const hasWhole = (element) => element.closest('[title], [aria-label], [data-whole]') !== null;
  // Meant for screen readers only: shrunk to a point.
  const isPoint = (element) => element.offsetWidth <= 1 && getComputedStyle(element).overflow === 'hidden';
  const isHidden = (element) =>
    !element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) ||
    isPoint(element) ||
    element.closest('.sr, [inert], .skeleton');
  /** Follows one box of text outwards until something scrolls, cuts it, or the window ends. */
  const follow = (element, text, box) => {
    let across = true;
    let down = true;
    for (let at = element; at && at !== document.documentElement && (across || down); at = at.parentElement) {
      const style = getComputedStyle(at);
      const edge = at.getBoundingClientRect();
      if (across && style.overflowX !== 'visible') {
        const over = box.right > edge.right + 1.5 || box.left < edge.left - 1.5;
        if (['auto', 'scroll'].includes(style.overflowX)) across = !over && across;
        else if (over && style.textOverflow === 'ellipsis') return hasWhole(element) || say(element, text, 'is shortened and its whole is nowhere');
        else if (over) return say(element, text, `is cut at the side by ${Math.round(Math.max(box.right - edge.right, edge.left - box.left))} px`);
      }
      if (down && style.overflowY !== 'visible') {
        const over = box.bottom > edge.bottom + 2.5 || box.top < edge.top - 2.5;
        if (['auto', 'scroll'].includes(style.overflowY)) {
          if (over) return;
        } else if (over) return say(element, text, `is cut at its ${box.top < edge.top ? 'top' : 'foot'}`);
      }
      if (style.position === 'fixed') break;
    }
    if (across && (box.right > innerWidth + 1.5 || box.left < -1.5)) say(element, text, 'lies outside of the window');
    if (down && (box.bottom > innerHeight + 1.5 || box.top < -1.5)) say(element, text, 'lies outside of the window');
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.data.trim();
    const element = node.parentElement;
    if (!text || ['SCRIPT', 'STYLE', 'OPTION'].includes(element.tagName) || isHidden(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.width > 0 && box.height > 0) follow(element, text, box);
    }
  }
  return [...found];
}

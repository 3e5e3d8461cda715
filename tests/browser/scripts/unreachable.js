// The visible elements that look as if they react to a click, but that the keyboard does not reach.
(() => {
  const INTERACTIVE =
    "a[href],button,input,select,textarea,summary,[tabindex],[contenteditable],[role=button],[role=link],[role=tab]," +
    "[role=slider],[role=checkbox],[role=switch],[role=option],[role=menuitem],[role=treeitem],[onclick]";
  const isVisible = (each) =>
    each.checkVisibility({ checkVisibilityCSS: true, checkOpacity: false, contentVisibilityAuto: true }) &&
    each.getClientRects().length > 0;
  const pointed = (each) =>
    getComputedStyle(each).cursor === "pointer" && getComputedStyle(each.parentElement).cursor !== "pointer";
  const { reached } = keyboardWalk;
  const isReached = (each) => {
    if (reached.has(each) || [...reached].some((other) => other.contains(each))) return true;
    // A label passes clicks on to its control.
    if (each.control) return isReached(each.control);
    // Of radio buttons with one name, arrow keys choose.
    if (each.type === "radio") return [...document.getElementsByName(each.name)].some((other) => reached.has(other));
    return false;
  };
  const name = (each) => each.cloneNode(false).outerHTML.slice(0, 120);
  const candidates = [...document.body.querySelectorAll("*")].filter(
    (each) => (each.matches(INTERACTIVE) || pointed(each)) && !each.disabled && isVisible(each),
  );
  return [
    ...candidates.filter((each) => !isReached(each)).map((each) => `not reached: ${name(each)}`),
    ...[...keyboardWalk.unseen].map((each) => `focus not visible: ${name(each)}`),
  ];
})()

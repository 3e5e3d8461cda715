// Note which elements receive the focus, and whether the focus can be seen on them; start before the first element.
(() => {
  const look = (each) => {
    const style = getComputedStyle(each);
    const outline = style.outlineStyle === "none" ? "" : style.outline;
    return [outline, style.boxShadow, style.stroke, style.borderColor, style.backgroundColor].join("|");
  };
  const plain = new Map([...document.querySelectorAll("*")].map((each) => [each, look(each)]));
  window.keyboardWalk = { reached: new Set(), unseen: new Set() };
  document.addEventListener(
    "focusin",
    (event) => {
      const each = event.target;
      keyboardWalk.reached.add(each);
      // A cell of a map may show the focus on its shape.
      const shown = [each, ...each.querySelectorAll("*")].some((part) => look(part) !== plain.get(part));
      if (!shown) keyboardWalk.unseen.add(each);
    },
    true,
  );
  document.activeElement?.blur();
  getSelection().removeAllRanges();
})()

// The elements that make the page scroll sideways, innermost first; empty if the page does not.
(() => {
  const page = document.scrollingElement;
  if (page.scrollWidth <= page.clientWidth) return [];
  const tooWide = [...document.body.querySelectorAll("*")].filter(
    (each) => each.getBoundingClientRect().right > page.clientWidth + 0.5,
  );
  const names = tooWide.map((each) => each.tagName.toLowerCase() + (each.className ? `.${each.classList?.[0]}` : ""));
  return [`${page.scrollWidth} > ${page.clientWidth}`, ...names.slice(-5)];
})()

// The text of each cell of each table, without white space; a title inside a drawing is a tooltip.
[...document.querySelectorAll("th,td,caption")]
  .map((each) => {
    const copy = each.cloneNode(true);
    for (const title of copy.querySelectorAll("svg title")) title.remove();
    return copy.textContent.replace(/\s/g, "");
  })
  .filter(Boolean)

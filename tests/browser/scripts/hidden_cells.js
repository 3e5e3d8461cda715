// The texts of cells that are not shown.
[...document.querySelectorAll("th,td,caption")]
  .filter((each) => each.textContent.trim() && !each.checkVisibility())
  .map((each) => each.textContent)

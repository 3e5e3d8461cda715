// Open everything that can be opened, so that its contents are checked too.
(() => {
  for (const each of document.querySelectorAll("details")) each.open = true;
})()

// The visible controls that do nothing without JavaScript.
[...document.querySelectorAll("button,input,select,textarea,[role=button]")]
  .filter((each) => each.checkVisibility())
  .map((each) => each.cloneNode(false).outerHTML.slice(0, 120))

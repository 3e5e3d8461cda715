// Called on an element with a click listener: empty if the keyboard operates it, or its name.
function () {
  if (this.nodeType !== Node.ELEMENT_NODE || !this.checkVisibility() || this === document.body) return "";
  const NATIVE = "a[href],button,input,select,textarea,summary,details,label,option";
  // A container listens for the elements inside, which are checked themselves.
  if (this.matches(NATIVE) || this.querySelector(`${NATIVE},[tabindex]`)) return "";
  return this.cloneNode(false).outerHTML.slice(0, 120);
}

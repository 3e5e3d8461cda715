// Focus the reached element closest to one that only arrow keys can reach, once for each; false if there is none left.
(() => {
  const walk = window.keyboardWalk;
  walk.tried ??= new Set();
  const left = [...document.querySelectorAll("[tabindex='-1']")].filter(
    (each) => each.checkVisibility() && !walk.reached.has(each) && !walk.tried.has(each),
  );
  for (const each of left) {
    walk.tried.add(each);
    for (let around = each.parentElement; around && around !== document.body; around = around.parentElement) {
      const neighbour = [...walk.reached].find((other) => around.contains(other) && other.checkVisibility());
      if (neighbour && walk.stuck !== neighbour) {
        walk.stuck = neighbour;
        neighbour.focus();
        return true;
      }
      if (neighbour) break;
    }
  }
  return false;
})()

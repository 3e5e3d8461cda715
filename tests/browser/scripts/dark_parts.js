// The large elements with a dark background; for paper.
(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const luminance = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = "white";
    canvas.fillRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue] = canvas.getImageData(0, 0, 1, 1).data;
    return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255;
  };
  const isLarge = (box) => box.width > 300 && box.height > 100;
  return [...document.querySelectorAll("html,body,body *")]
    .filter((each) => each.ownerSVGElement == null && isLarge(each.getBoundingClientRect()))
    .filter((each) => luminance(getComputedStyle(each).backgroundColor) < 0.7)
    .map((each) => each.cloneNode(false).outerHTML.slice(0, 120));
})()

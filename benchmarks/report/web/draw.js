// Drawing: a figure in its box, labels that do not overlap. Colours are those of the page's style, so that figures follow it
// at once, on paper too; files get the values that these have on paper.
let filing = false;
function colour(name) {
  if (!filing) return `var(--${name})`;
  const probe = Object.assign(document.createElement("i"), { hidden: true });
  probe.style.cssText = `color-scheme: light; color: var(--${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}
const tint = (k) => colour(k ? `s${k}` : "grey");
const inks = () => ["faint", "s1", "s2", "s3", "s4", "s5"].map(colour);

function config() {
  const [soft, line] = [colour("soft"), colour("line")];
  return {
    background: null, font: getComputedStyle(document.body).fontFamily, aria: false, padding: 0, view: { stroke: null },
    axis: { labelColor: soft, titleColor: soft, gridColor: colour("hair"), domainColor: line, tickColor: line, labelFontSize: 11.5, titleFontSize: 11.5, titleFontWeight: "normal", labelPadding: 4, tickSize: 4 },
    text: { fontSize: 11.5, fill: colour("ink") }, line: { strokeCap: "round" },
  };
}

async function plot(box, spec) {
  const embed = await library();
  box.view?.finalize();
  // a place of its own: the library would give the box another role than that of an image
  const place = Object.assign(document.createElement("div"), { className: "drawn" });
  place.setAttribute("aria-hidden", "true");
  box.replaceChildren(place);
  const made = await embed(place, { autosize: { type: "pad", contains: "padding" }, ...spec, config: config() }, { ast: true, actions: false, renderer: "svg", tooltip: false });
  box.view = made.view;
}

const SPACE = 13.5;
// Heights pushed apart by at least SPACE and kept within the panel; labels bring their `y` in pixels.
function apart(labels, height) {
  const order = labels.map((label) => ({ ...label })).sort((a, b) => Math.round(a.y - b.y) || a.k - b.k);
  const top = Math.min(2, height - SPACE * order.length);
  order.forEach((label, i) => { label.y = Math.max(label.y, i ? order[i - 1].y + SPACE : top); });
  for (let i = order.length - 1; i >= 0; i--) order[i].y = Math.min(order[i].y, i === order.length - 1 ? height : order[i + 1].y - SPACE);
  return order;
}

const scaled = (value, [low, high], pixels, log) => {
  const f = log ? Math.log : (x) => x;
  return (pixels * (f(value) - f(low))) / (f(high) - f(low));
};
const word = (text, x, y, fill, more = {}) => ({ data: { values: [{}] }, mark: { type: "text", text, x, y, fill, align: "left", baseline: "middle", ...more } });
const stroke = (k) => ({ color: tint(k), strokeWidth: k === 1 ? 2.6 : k ? 2 : 1.2, strokeDash: DASH[k] ?? [] });

// How many letters of a name fit in the margin, and how wide it is.
function margin(names, width) {
  const letters = Math.min(22, Math.max(4, ...names.map((name) => name.length)), Math.floor(width / 18));
  return { letters, pixels: 14 + 6.6 * letters };
}
const ended = (ends, width, letters) => ends.map((e) => word(few(e.name, letters), width + 8, e.y, e.k ? tint(e.k) : colour("soft"), { fontWeight: e.k === 1 ? 600 : 400 }));

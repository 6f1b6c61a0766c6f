// Tips, on hover and on focus: of marks, cells and figures. Arrow keys walk through what a focused part holds; Esc closes.
const tip = $("#tip");
let walked = null;

function show(html, x, y) {
  tip.innerHTML = html;
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(6, Math.min(innerWidth - width - 8, x + 14))}px`;
  tip.style.top = `${Math.max(6, Math.min(innerHeight - height - 8, y + 14))}px`;
}

function hush() {
  tip.hidden = true;
  for (const rule of $$(".rule")) rule.remove();
  walked?.classList.remove("at");
  walked = null;
}

// A message that fades.
function say(text) {
  show(escaped(text), innerWidth / 2 - 40, innerHeight - 70);
  setTimeout(() => { if (tip.textContent === text) hush(); }, 1500);
}

const told = (mark) => (mark.dataset.row !== undefined ? escaped(said(rows[mark.dataset.row])) : escaped(mark.dataset.tip));
const below = (mark) => { const r = mark.getBoundingClientRect(); return [r.left, r.bottom - 8]; };

// A figure at one of its budgets: a rule, and every solver shown.
function point(box, i, x, y) {
  for (const rule of $$(".rule")) if (rule.parentElement !== box) rule.remove();
  show(box.hover.at(i), x, y);
  const rule = $(".rule", box) ?? box.appendChild(Object.assign(document.createElement("div"), { className: "rule" }));
  Object.assign(rule.style, { left: `${across(box, box.hover.budgets[i])}px`, top: "0", height: `${HEIGHT}px` });
}

// Where a budget lies in the box, in pixels.
function across(box, budget) {
  const svg = $("svg", box).getBoundingClientRect();
  return svg.left - box.getBoundingClientRect().left + box.view.origin()[0] + box.view.scale("x")(budget);
}

document.addEventListener("pointermove", (event) => {
  const box = event.target.closest?.(".plot");
  if (box?.hover && box.view) {
    const at = event.clientX - box.getBoundingClientRect().left;
    const far = box.hover.budgets.map((budget) => Math.abs(across(box, budget) - at));
    return point(box, far.indexOf(Math.min(...far)), event.clientX, event.clientY);
  }
  const mark = event.target.closest?.("[data-row], [data-tip]");
  if (mark) return show(told(mark), event.clientX, event.clientY);
  if (!tip.hidden && !walked && event.pointerType === "mouse" && !document.activeElement?.closest?.(".plot")) hush();
});
document.addEventListener("pointerleave", hush);
document.addEventListener("scroll", () => { if (!walked) hush(); }, { passive: true });
document.addEventListener("focusin", (event) => {
  hush();
  const mark = event.target.closest?.("[data-tip]");
  if (mark && event.target.matches(":focus-visible")) show(told(mark), ...below(mark));
});

// The parts through which arrow keys walk: the marks of a strip, the cells of the table.
function walk(event) {
  const strip = event.target.closest?.(".strip[tabindex]");
  const region = event.target.closest?.("#heat-region");
  const { x, y } = { x: { ArrowRight: 1, ArrowLeft: -1 }[event.key] ?? 0, y: { ArrowDown: 1, ArrowUp: -1 }[event.key] ?? 0 };
  if (!(strip || (region && event.target === region)) || !(x || (y && region))) return false;
  const lines = strip ? [[...strip.children]] : $$("tbody tr", region).map((tr) => $$("td:not(.gap, .sum)", tr));
  let [i, j] = [lines.findIndex((l) => l.includes(walked)), 0];
  if (i < 0) i = 0;
  else {
    j = Math.max(0, Math.min(lines[i].length - 1, lines[i].indexOf(walked) + x));
    i = Math.max(0, Math.min(lines.length - 1, i + y));
  }
  walked?.classList.remove("at");
  walked = lines[i][j];
  walked.classList.add("at");
  walked.scrollIntoView({ block: "nearest", inline: "nearest" });
  show(walked.dataset.row === undefined && !walked.dataset.tip ? "not asked" : told(walked), ...below(walked));
  return true;
}

document.addEventListener("keydown", (event) => {
  const box = event.target.closest?.(".plot");
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (box?.hover && step) {
    const n = box.hover.budgets.length;
    const r = box.getBoundingClientRect();
    box.index = Math.max(0, Math.min(n - 1, (box.index ?? (step > 0 ? -1 : n)) + step));
    point(box, box.index, r.left + r.width / 2, r.top + 60);
    event.preventDefault();
  } else if (walk(event)) event.preventDefault();
  if (event.key === "Escape") {
    hush();
    for (const menu of $$(".save[open]")) { menu.open = false; $("summary", menu).focus(); }
  }
});
